/**
 * Calls of clients that need a person: they wait up to 50 s, the question outlives them, and one approval lets one call run. Uses
 * the real desk and a real database; the test moves the clock.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import { capabilities } from '../../../src/contracts/link/knows.ts';
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { iso } from '../../../src/kit/clock/clock.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLanes } from '../../../src/kit/lane/create-lanes.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createHeldApprovals } from '../../../src/runtime-server/approvals/index.ts';
import { createPolicy } from '../../../src/runtime-server/policy/index.ts';
import type { ForeignTools } from '../../../src/runtime-server/tool-server/foreign-tools.ts';
import { createToolServer, type ToolCaller, type ToolOutcome } from '../../../src/runtime-server/tool-server/index.ts';
import { createTestClock, type TestClock } from '../../support/test-clock.ts';
import { everythingAgreed } from '../../support/trust.ts';

let root: string;
let clock: TestClock;
let bench: Awaited<ReturnType<typeof open>>;
const seconds = (count: number) => clock.advance(count * 1000);

beforeEach(async () => {
  root = mkdtempSync(join(tmpdir(), 'gantry-wait-'));
  clock = createTestClock();
  bench = await open();
  onTestFinished(async () => {
    await bench.close();
    rmSync(root, { recursive: true, force: true });
  });
});

/** An attached server with one tool, which asks the person before it runs. */
const asking: ForeignTools = {
  list: () => [{ name: 'shop.order', server: 'shop', inputSchema: { type: 'object' } }],
  revision: 1,
  async call(_name, _args, { ask, signal }) {
    const answer = await ask?.({ title: 'shop asks: Which?', summary: 'Which?' }, signal);
    const text = answer?.kind === 'approve' ? `Ordered ${answer.note}.` : 'Nothing was ordered.';
    return { content: [{ type: 'text', text }], isError: answer?.kind !== 'approve' };
  },
  follow: async () => ({ content: [], isError: true }),
};

async function open() {
  const ids = createIds(clock);
  const log = { warn: () => {} };
  const store = await openStore({ file: join(root, 'db', 'runtime.db'), migrations: runtimeMigrations, clock });
  const ledger = await createLedger({ store, clock, ids });
  const { approvals } = createHeldApprovals({
    knows: () => Promise.resolve(new Set(capabilities)),
    cloudAheadMs: () => 0,
    store,
    ledger,
    clock,
    timers: clock,
    ids,
    log,
    ownerId: 'user_local',
    openLanes: (send) => createLanes({ store, clock, name: 'cloud', send }),
    call: async () => ({ status: 200, body: {} }),
  });
  await approvals.start();
  const policy = createPolicy({ workspace: root, trust: everythingAgreed, log });
  const server = createToolServer({
    policy,
    approvals: approvals,
    clock,
    timers: clock,
    env: { PATH: process.env.PATH, GANTRY_TOOL_SANDBOX: 'off' },
    freshName: () => ids.next('tmp'),
    hidden: [],
    log: { error: () => {} },
    converter: null,
    foreign: asking,
  });
  const registry = server.registry();
  return {
    approvals,
    registry,
    answer: (id: string, decision: 'approve' | 'reject', note: string | null = null) =>
      approvals.answer({
        id,
        decision,
        note,
        resolvedBy: { user: 'user_local', surface: 'browser' },
        at: iso(clock.now()),
      }),
    async close() {
      await server.close();
      await approvals.close();
      await store.close();
    },
  };
}

const client = (more: Partial<ToolCaller> = {}): ToolCaller => ({
  bot: null,
  client: 'user_local/key:k1',
  actor: 'user_local',
  surface: 'key',
  mode: null,
  root,
  checkout: root,
  workspace: root,
  env: {},
  signal: new AbortController().signal,
  patienceMs: 50_000,
  ...more,
});

/** Each run adds a line. */
const line = (word: string) => ({ command: `echo ${word} >> done.txt`, shell: true });
const call = (word = 'ran', more: Partial<ToolCaller> = {}) =>
  bench.registry.call('shell.exec', line(word), client(more));
const runs = () =>
  existsSync(join(root, 'done.txt')) ? readFileSync(join(root, 'done.txt'), 'utf8').trim().split('\n') : [];

/** The questions that wait, once there are so many. */
const questions = (count: number): Promise<Approval[]> =>
  expect
    .poll(() => bench.approvals.live())
    .toHaveLength(count)
    .then(() => bench.approvals.live());

/** Lets the call begin to wait, moves past its patience, and gives what it answered. */
async function tooLong(asked: Promise<ToolOutcome>, count = 1): Promise<ToolOutcome> {
  await questions(count);
  await seconds(51);
  return asked;
}

const required = (outcome: ToolOutcome) =>
  outcome.structured as { error: string; approvalId: string; retryable: boolean };

test('a yes within the wait lets the call run at once, and the next same call asks anew', async () => {
  const asked = call();
  const [question] = await questions(1);
  expect(question).toMatchObject({ kind: 'tool_call', risk: 'high', agentId: null, summary: 'echo ran >> done.txt' });
  expect(question?.title).toBe('A program of yours (key): Run echo ran >> done.txt');
  await bench.answer(question!.id, 'approve');
  expect(await asked).toMatchObject({ isError: false, approvalId: question!.id, acted: true });
  const again = await tooLong(call());
  expect(required(again).approvalId).not.toBe(question!.id);
  expect(runs()).toEqual(['ran']);
});

test('nobody answers: the call says so with the approval’s id, and the question stays', async () => {
  const outcome = await tooLong(call());
  const [question] = await bench.approvals.live();
  expect(outcome).toMatchObject({ isError: true, open: true, acted: false });
  expect(required(outcome)).toEqual({ error: 'approval_required', approvalId: question!.id, retryable: true });
  expect(outcome.text).toContain(question!.id);
  expect(runs()).toEqual([]);
});

test('the same call joins the question that is open, and runs once on a yes that came meanwhile', async () => {
  const first = required(await tooLong(call())).approvalId;
  let joined = (_id: string) => {};
  const joins = new Promise<string>((resolve) => {
    joined = resolve;
  });
  const again = bench.registry.call('shell.exec', line('ran'), client(), {
    asking: (question) => question !== null && joined(question.id),
  });
  // The question was there before: that this call waits for it is known from itself alone.
  expect(await joins).toBe(first);
  expect(required(await tooLong(again)).approvalId).toBe(first);
  await bench.answer(first, 'approve');
  await seconds(9 * 60);
  expect(await call()).toMatchObject({ isError: false, approvalId: first });
  expect(runs()).toEqual(['ran']);
  expect(required(await tooLong(call())).approvalId).not.toBe(first);
  expect(runs()).toEqual(['ran']);
});

test('a yes that is older than ten minutes lets nothing run', async () => {
  const first = required(await tooLong(call())).approvalId;
  await bench.answer(first, 'approve');
  await seconds(10 * 60 + 1);
  expect(required(await tooLong(call())).approvalId).not.toBe(first);
  expect(runs()).toEqual([]);
});

test('another client, other arguments and another tool do not run on it', async () => {
  const first = required(await tooLong(call())).approvalId;
  await bench.answer(first, 'approve');
  const others = [call('ran', { client: 'user_local/cli' }), call('other')];
  await questions(2);
  await seconds(51);
  for (const outcome of await Promise.all(others)) expect(required(outcome).error).toBe('approval_required');
  expect(runs()).toEqual([]);
  expect(await call()).toMatchObject({ isError: false });
});

test('a no is told with its note, to who waits and to who comes back, once each', async () => {
  const waits = call();
  const [question] = await questions(1);
  await bench.answer(question!.id, 'reject', 'not on a Sunday');
  expect(await waits).toMatchObject({ isError: true, open: false });
  expect((await waits).text).toContain('A person said no: not on a Sunday.');
  const later = required(await tooLong(call())).approvalId;
  await bench.answer(later, 'reject');
  expect((await call()).text).toContain('A person said no.');
  expect(required(await tooLong(call())).approvalId).not.toBe(later);
  expect(runs()).toEqual([]);
});

test('two same calls at once wait for one question; one runs on its yes, the other needs one of its own', async () => {
  const both = [call(), call()];
  const [question] = await questions(1);
  await bench.answer(question!.id, 'approve');
  const [second] = await questions(1);
  expect(second!.id).not.toBe(question!.id);
  await expect.poll(runs).toEqual(['ran']);
  await bench.answer(second!.id, 'approve');
  expect((await Promise.all(both)).map(({ isError }) => isError)).toEqual([false, false]);
  expect(runs()).toEqual(['ran', 'ran']);
});

test('a client that leaves while it waits takes nothing back: the person may be reading, and the next same call joins', async () => {
  const gone = new AbortController();
  const left = call('ran', { signal: gone.signal });
  const [question] = await questions(1);
  gone.abort();
  expect(required(await left).approvalId).toBe(question!.id);
  await bench.answer(question!.id, 'approve');
  expect(runs()).toEqual([]);
  expect(await call()).toMatchObject({ isError: false, approvalId: question!.id });
  expect(runs()).toEqual(['ran']);
});

test('a question that nobody comes back for within ten minutes is withdrawn, one that is asked again stays', async () => {
  const first = required(await tooLong(call())).approvalId;
  await seconds(9 * 60);
  let asked = () => {};
  const asks = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const again = bench.registry.call('shell.exec', line('ran'), client(), { asking: asked });
  await asks;
  expect(required(await tooLong(again)).approvalId).toBe(first);
  await seconds(9 * 60);
  expect(await bench.approvals.live()).toHaveLength(1);
  await seconds(61);
  await questions(0);
  expect(await bench.approvals.live()).toEqual([]);
  expect(await bench.answer(first, 'approve')).toBe('gone');
  expect(required(await tooLong(call())).approvalId).not.toBe(first);
});

test('a call that its server asks the person about is approved once, however often its client comes back for the answer', async () => {
  // A mode in which the policy asks about tools that act.
  const order = (item = 'tea', asking = () => {}) =>
    bench.registry.call('shop.order', { item }, client({ mode: 'REQUIRE_APPROVAL' }), { asking });
  const first = order();
  const [whether] = await questions(1);
  await bench.answer(whether!.id, 'approve');
  await expect.poll(async () => (await bench.approvals.live())[0]?.title).toBe('shop asks: Which?');
  const [which] = await bench.approvals.live();
  expect(required(await tooLong(first)).approvalId).toBe(which!.id);
  let joined = () => {};
  const joins = new Promise<void>((resolve) => {
    joined = resolve;
  });
  const second = order('tea', () => joined());
  await joins;
  // Other arguments are another call.
  const other = order('coal');
  expect((await questions(2)).map(({ id }) => id)).toContain(which!.id);
  await seconds(51);
  expect(required(await second).approvalId).toBe(which!.id);
  expect(required(await other).approvalId).not.toBe(which!.id);
  await bench.answer(which!.id, 'approve', 'green');
  expect(await order()).toMatchObject({ isError: false, text: 'Ordered green.' });
  // It has run: the next one is approved anew.
  const next = required(await tooLong(order(), 2));
  expect(next.approvalId).not.toBe(which!.id);
});

test('a file that changed since it was approved is asked about anew, and the old yes is void', async () => {
  const { writeFileSync, mkdirSync } = await import('node:fs');
  mkdirSync(join(root, '.git'));
  writeFileSync(join(root, '.git', 'config'), 'one\n');
  const write = () => bench.registry.call('file.write', { path: '.git/config', content: 'two\n' }, client());
  const first = required(await tooLong(write())).approvalId;
  await bench.answer(first, 'approve');
  writeFileSync(join(root, '.git', 'config'), 'other\n');
  const second = required(await tooLong(write()));
  expect(second.approvalId).not.toBe(first);
  expect(readFileSync(join(root, '.git', 'config'), 'utf8')).toBe('other\n');
});
