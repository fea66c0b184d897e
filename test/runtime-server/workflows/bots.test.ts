import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { createTestClock } from '../../support/test-clock.ts';
import {
  bot,
  delivery,
  openWorld,
  owner,
  person,
  type Sent,
  statuses,
  steps,
  type World,
  worker,
  workforceOf,
} from './support.ts';

const red = (...edges: { kind: string; from: string; to: string }[]) =>
  workforceOf({
    name: 'red',
    bots: [worker('coder', 'red', { role: 'coder' }), worker('judge', 'red', { role: 'judge' })],
    edges,
  });
const coder = bot('coder@red');
const judge = bot('judge@red');
const codes = (...ids: string[]) => ({ steps: ids.map((id) => ({ id, title: `Do ${id}`, executor: 'role:coder' })) });

async function upload(world: World, dagId: string, nodeId: string, line: string, by = coder) {
  async function* parts() {
    yield { name: 'line', filename: null, type: null, body: Readable.from([Buffer.from(line)]) };
    yield { name: 'file', filename: 'proof.txt', type: 'text/plain', body: Readable.from([Buffer.from('it works')]) };
  }
  return world.proofs.upload({ dagId, nodeId }, by, parts());
}

const refusal = (promise: Promise<unknown>) =>
  promise.then(
    () => 'no refusal',
    (error: unknown) => (error instanceof AppError ? `${error.status} ${error.fact}` : String(error)),
  );

test('a ready node is handed to its bot in one message with everything, under a key of its attempt', async () => {
  const world = await openWorld({ workforce: red() });
  world.template('t', {
    steps: [
      {
        id: 'a',
        title: 'Fix {{ intent }}',
        description: 'Mend it.',
        executor: 'role:coder',
        proof: [{ line: 'tests pass' }],
      },
    ],
  });
  const { dagId, nodes } = await world.run('t', { intent: 'the roof' });
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  const nodeId = nodes[0]?.nodeId ?? '';
  expect(world.sent).toHaveLength(1);
  expect(world.sent[0]).toMatchObject({ to: 'coder@red', dagId, nodeId, idempotencyKey: `${dagId}:${nodeId}:1` });
  for (const part of [
    'Fix the roof',
    'What the run is for: the roof',
    'Mend it.',
    '- tests pass',
    `gantry workspace done ${dagId} ${nodeId}`,
  ]) {
    expect(world.sent[0]?.text).toContain(part);
  }
});

test('one bot has one node at a time, and the next one is pushed to it the moment it is free', async () => {
  const world = await openWorld({ workforce: red() });
  world.template('t', codes('a', 'b', 'c'));
  const first = await world.run('t');
  const second = await world.run('t');
  await world.until(first.dagId, (flow) => statuses(flow).a === 'working');
  expect(world.sent).toHaveLength(1);
  for (const [dagId, step] of [
    [first.dagId, 'a'],
    [first.dagId, 'b'],
    [first.dagId, 'c'],
    [second.dagId, 'a'],
    [second.dagId, 'b'],
    [second.dagId, 'c'],
  ] as const) {
    await world.until(dagId, (flow) => statuses(flow)[step] === 'working');
    const holding = await world.store.read((tx) => tx.all("SELECT 1 FROM factory_node WHERE holder = 'coder@red'"));
    expect(holding).toHaveLength(1);
    await world.verbs.done({ dagId, nodeId: step }, coder, {});
  }
  expect((await world.settled(second.dagId)).status).toBe('done');
  // These steps ask for no proof: nothing says that they are proven.
  expect(await world.node(second.dagId, 'c')).toMatchObject({ status: 'done', cause: 'reported' });
  expect(new Set(world.sent.map((one) => one.idempotencyKey)).size).toBe(6);
});

test('a node is not done because its bot says so: a required line needs its file, and somebody else accepts it', async () => {
  const world = await openWorld({ workforce: red() });
  world.template('t', {
    steps: [
      {
        id: 'a',
        title: 'A',
        executor: 'role:coder',
        proof: [{ line: 'tests pass' }, { line: 'picture', required: false }],
      },
    ],
  });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  expect(await refusal(world.verbs.done({ dagId, nodeId: 'a' }, coder, {}))).toBe('409 A has no proof of: tests pass.');
  expect(await refusal(upload(world, dagId, 'a', 'test pass'))).toBe('400 "test pass" is not a line of A.');
  expect(await refusal(upload(world, dagId, 'a', 'tests pass', judge))).toContain(
    '403 A belongs to coder@red, not to judge@red',
  );
  await upload(world, dagId, 'a', 'tests pass');
  expect(await world.verbs.done({ dagId, nodeId: 'a' }, coder, { output: 'fixed' })).toMatchObject({
    status: 'needs_you',
    cause: 'proof_to_accept',
    proof: { proven: 1, total: 2 },
  });
  expect(await refusal(world.verbs.done({ dagId, nodeId: 'a' }, coder, {}))).toContain('409');
  expect(await world.verbs.done({ dagId, nodeId: 'a' }, person, { note: 'seen' })).toMatchObject({
    status: 'done',
    cause: 'accepted',
    // Nobody waits for the picture any more.
    proof: { proven: 1, total: 1 },
  });
  expect(await world.pages.node(dagId, 'a')).toMatchObject({
    output: 'fixed',
    proofMd: '- [x] tests pass\n- [ ] picture (optional)',
  });
});

test('a file that a bot sends for an optional line of its own step proves nothing: nobody else looked at it', async () => {
  const world = await openWorld({ workforce: red() });
  const proof = [{ line: 'picture', required: false }];
  world.template('t', { steps: [{ id: 'a', title: 'A', executor: 'role:coder', proof }] });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  await upload(world, dagId, 'a', 'picture');
  expect(await world.verbs.done({ dagId, nodeId: 'a' }, coder, {})).toMatchObject({
    status: 'done',
    cause: 'reported',
  });
});

test('a verify command stands in for a person: it decides whether what the bot did is done', async () => {
  const world = await openWorld({ workforce: red() });
  world.template('t', {
    steps: [
      {
        id: 'a',
        title: 'A',
        executor: 'role:coder',
        proof: [{ line: 'made' }],
        verify: { command: 'test -e made' },
        retry: { max: 1, backoff_seconds: 0 },
      },
    ],
  });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  await upload(world, dagId, 'a', 'made');
  await world.verbs.done({ dagId, nodeId: 'a' }, coder, {});
  await world.until(dagId, (flow) => flow.nodes[0]?.attempt === 2 && statuses(flow).a === 'working');
  expect(world.sent[1]?.text).toContain('This is attempt 2. The one before: The check failed.');
  // What the first attempt proved counts no more.
  expect(await refusal(world.verbs.done({ dagId, nodeId: 'a' }, coder, {}))).toContain('409');
  const { writeFileSync } = await import('node:fs');
  writeFileSync(`${world.folder}/workspace/made`, '');
  await upload(world, dagId, 'a', 'made');
  await world.verbs.done({ dagId, nodeId: 'a' }, coder, {});
  expect((await world.until(dagId, (flow) => flow.status === 'done')).nodes[0]?.proof).toEqual({ proven: 2, total: 2 });
});

test('by a checks edge another bot is asked; it accepts or rejects, and the executor cannot', async () => {
  const world = await openWorld({ workforce: red({ kind: 'checks', from: 'judge', to: 'coder' }) });
  world.template('t', {
    steps: [{ id: 'a', title: 'A', executor: 'role:coder', on_fail: 'ask', retry: { max: 1, backoff_seconds: 0 } }],
  });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  expect(await refusal(world.verbs.done({ dagId, nodeId: 'a' }, judge, {}))).toContain('403');
  expect(((await world.verbs.done({ dagId, nodeId: 'a' }, coder, {})) as { status: string }).status).toBe('checking');
  await world.until(dagId, () => world.sent.length === 2);
  expect(world.sent[1]).toMatchObject({ to: 'judge@red', idempotencyKey: expect.stringMatching(/:1:check$/) });
  expect(await refusal(world.verbs.done({ dagId, nodeId: 'a' }, coder, {}))).toContain('409');
  await world.verbs.fail({ dagId, nodeId: 'a' }, judge, 'too short');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  expect(world.sent[2]?.text).toContain('The one before: judge@red: too short');
  await world.verbs.done({ dagId, nodeId: 'a' }, coder, {});
  await world.until(dagId, () => world.sent.length === 4);
  expect(await world.verbs.done({ dagId, nodeId: 'a' }, judge, {})).toMatchObject({
    status: 'done',
    detail: 'Checked by judge@red.',
  });
});

test('a queued message leaves the node ready until the bot has it; what fails on the way counts as a failed attempt', async () => {
  const answers: Delivery['state'][] = ['queued', 'failed'];
  const world = await openWorld({
    workforce: red(),
    dispatch: (sent: Sent) => delivery(sent, answers.shift(), `d${2 - answers.length}`),
  });
  world.template('t', codes('a'));
  const { dagId } = await world.run('t');
  const queued = await world.until(dagId, (flow) => flow.nodes[0]?.cause === 'queued');
  expect(queued.nodes[0]).toMatchObject({ status: 'ready', attempt: 1 });
  const sent = world.sent[0] as Sent;
  world.delivered(delivery(sent, 'verified', 'another'));
  world.delivered(delivery(sent, 'verified', 'd1'));
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  await world.verbs.fail({ dagId, nodeId: 'a' }, coder, 'cannot');
  expect((await world.until(dagId, (flow) => flow.status === 'failed')).nodes[0]).toMatchObject({
    cause: 'gave_up',
    detail: 'cannot',
  });
  await world.verbs.retry({ dagId, nodeId: 'a' }, person);
  expect((await world.until(dagId, (flow) => flow.status === 'failed')).nodes[0]).toMatchObject({
    cause: 'delivery_failed',
    attempt: 2,
  });
});

test('the fate of a send that is told before its answer is not lost', async () => {
  let answer = (_: Delivery) => {};
  const world = await openWorld({
    workforce: red(),
    dispatch: () =>
      new Promise<Delivery>((resolve) => {
        answer = resolve;
      }),
  });
  world.template('t', codes('a'));
  const { dagId } = await world.run('t');
  await world.until(dagId, () => world.sent.length === 1);
  const sent = world.sent[0] as Sent;
  world.delivered(delivery(sent, 'verified', 'd1'));
  // The word of the witness is taken in before the answer to the send.
  await new Promise((resolve) => setTimeout(resolve, 20));
  answer(delivery(sent, 'queued', 'd1'));
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
});

test('whether a message arrived that nobody saw is asked of a person, and the bot that reports has it', async () => {
  const world = await openWorld({ workforce: red(), dispatch: (sent: Sent) => delivery(sent, 'unconfirmed') });
  world.template('t', codes('a', 'b'));
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.cause === 'unconfirmed');
  // It may be at work: nothing else is given to it.
  expect(world.sent).toHaveLength(1);
  await world.verbs.progress({ dagId, nodeId: 'a' }, coder, 'half way');
  expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working', cause: 'resumed' });
  expect((await world.pages.node(dagId, 'a')).progressMd).toMatch(/^- \S+ coder@red: half way\n$/);
});

test('a bot that cannot be reached at all fails its node, a way that broke is tried again with the same key', async () => {
  const clock = createTestClock();
  let broken = 2;
  const world = await openWorld({
    clock,
    workforce: red(),
    dispatch: (sent: Sent) => {
      if (sent.to === 'judge@red') throw new AppError('not_found', 'There is no judge@red.', '');
      return delivery(sent);
    },
  });
  world.template('t', { steps: [{ id: 'a', title: 'A', executor: 'role:judge' }] });
  const gone = await world.run('t');
  expect((await world.until(gone.dagId, (flow) => flow.status === 'failed')).nodes[0]).toMatchObject({
    cause: 'delivery_failed',
    detail: 'There is no judge@red.',
  });

  const keys: string[] = [];
  const other = await openWorld({
    clock,
    workforce: red(),
    rawDispatch: async (to, text, dispatch) => {
      keys.push(dispatch.idempotencyKey);
      broken -= 1;
      if (broken >= 0) throw new AppError('transport', 'The disk is full.', '');
      return delivery({ to, text, ...dispatch });
    },
  });
  other.template('t', codes('a'));
  const { dagId } = await other.run('t');
  const working = other.until(dagId, (flow) => statuses(flow).a === 'working');
  for (let turn = 0; turn < 4; turn += 1) {
    // Time for a try to fail: the next one is planned only then.
    await new Promise((resolve) => setTimeout(resolve, 20));
    await clock.advance(5000);
  }
  await working;
  expect(keys).toHaveLength(3);
  expect(new Set(keys).size).toBe(1);
});

test('a bot that works too long has failed, and what it says later is refused', async () => {
  const clock = createTestClock();
  const world = await openWorld({ clock, workforce: red() });
  world.template('t', { steps: [{ id: 'a', title: 'A', executor: 'role:coder', timeout_minutes: 10 }] });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  await clock.advance(601_000);
  expect((await world.until(dagId, (flow) => flow.status === 'failed')).nodes[0]?.cause).toBe('timed_out');
  expect(await refusal(world.verbs.done({ dagId, nodeId: 'a' }, coder, {}))).toBe(
    '409 A is failed (timed out): done is not possible.',
  );
});

test('a cancelled bot is told once and has 15 seconds; then the node is held for inspection', async () => {
  const clock = createTestClock();
  const world = await openWorld({ clock, workforce: red() });
  world.template('t', codes('a', 'b'));
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  await world.cancel(dagId, owner);
  await world.until(dagId, () => world.sent.length === 2);
  expect(world.sent[1]).toMatchObject({ to: 'coder@red', idempotencyKey: expect.stringMatching(/:1:cancel$/) });
  await clock.advance(14_000);
  expect(statuses(await world.pages.flow(dagId))).toEqual({ a: 'working', b: 'cancelled' });
  await clock.advance(1_500);
  const held = await world.until(dagId, (flow) => statuses(flow).a === 'needs_you');
  expect(held.nodes[0]?.cause).toBe('cancel_deadline');
  await world.verbs.fail({ dagId, nodeId: 'a' }, person, 'stopped by hand');
  expect((await world.pages.flow(dagId)).status).toBe('cancelled');
});

test('a bot does only what is its own, and only what is for bots', async () => {
  const world = await openWorld({ workforce: red() });
  world.template('t', codes('a', 'b'));
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  for (const verb of ['claim', 'done', 'fail', 'progress'] as const) {
    const node = { dagId, nodeId: 'a' };
    const call =
      verb === 'claim'
        ? world.verbs.claim(node, judge)
        : verb === 'done'
          ? world.verbs.done(node, judge, {})
          : world.verbs[verb](node, judge, 'x');
    expect(await refusal(call), verb).toContain('403 Do a belongs to coder@red, not to judge@red');
  }
  expect(await refusal(world.verbs.claim({ dagId, nodeId: 'b' }, coder))).toContain('one step at a time');
});

test('a person takes a node over, and proves it like anybody else', async () => {
  const world = await openWorld({ workforce: red() });
  world.template('t', {
    steps: [{ id: 'a', title: 'A', executor: 'role:coder', on_fail: 'ask', proof: [{ line: 'l' }] }],
  });
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => statuses(flow).a === 'working');
  await world.verbs.fail({ dagId, nodeId: 'a' }, coder, 'too hard');
  expect(await world.verbs.claim({ dagId, nodeId: 'a' }, person)).toMatchObject({
    assignee: 'owner',
    status: 'working',
  });
  expect(await refusal(world.verbs.done({ dagId, nodeId: 'a' }, person, {}))).toContain('409 A has no proof of: l.');
  await upload(world, dagId, 'a', 'l', person);
  expect(await world.verbs.done({ dagId, nodeId: 'a' }, person, {})).toMatchObject({ status: 'done' });
});

test('a dry run of a verb says what would happen and changes nothing', async () => {
  const world = await openWorld({ workforce: red() });
  world.template('t', steps({ a: { command: 'false' }, b: { blocked_by: ['a'] } }));
  const { dagId } = await world.run('t');
  const before = await world.settled(dagId);
  const head = await world.ledger.head();
  expect(await world.verbs.retry({ dagId, nodeId: 'a', dryRun: true }, person)).toMatchObject({
    dryRun: true,
    plan: { dagId, from: 'failed', to: 'ready', cause: 'retried', records: ['node.status', 'node.status'] },
  });
  // Time in which a plan that were carried out would show.
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await world.pages.flow(dagId)).toEqual(before);
  expect(await world.ledger.head()).toBe(head);
});

test('a bot that gets another round is told what failed', async () => {
  const world = await openWorld({ workforce: red() });
  world.template('t', {
    steps: [
      { id: 'fix', title: 'Fix', executor: 'role:coder' },
      { id: 'prove', command: 'echo "seven of nine"; false', blocked_by: ['fix'], on_fail: 'fix' },
    ],
  });
  const { dagId } = await world.run('t');
  for (const round of [1, 2, 3]) {
    await world.until(dagId, (flow) => statuses(flow).fix === 'working' && world.sent.length === round);
    if (round > 1) {
      expect(world.sent[round - 1]?.text).toContain(
        `The one before: prove failed, round ${round} of 3. It ended with status 1. seven of nine`,
      );
    }
    await world.verbs.done({ dagId, nodeId: 'fix' }, coder, {});
  }
  expect((await world.until(dagId, (flow) => flow.status === 'failed')).nodes[1]?.cause).toBe('rounds_used_up');
});

describe('a usage limit', () => {
  const begun = async () => {
    const clock = createTestClock();
    const world = await openWorld({ workforce: red(), clock });
    world.template('t', {
      ...codes('a'),
      steps: [{ id: 'a', title: 'Do a', executor: 'role:coder', timeout_minutes: 10 }],
    });
    const { dagId, nodes } = await world.run('t');
    await world.until(dagId, (flow) => statuses(flow).a === 'working');
    return { world, clock, dagId, nodeId: nodes[0]?.nodeId ?? '' };
  };

  test('keeps the step at work while it is waited out, without its time running, and tells the bot to go on', async () => {
    const { world, clock, dagId } = await begun();
    world.limits.limited('coder@red', 'It tries again at 15:00.', true);
    await expect.poll(async () => (await world.node(dagId, 'a')).cause).toBe('usage_limit');
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working', attempt: 1 });
    await clock.advance(60 * 60_000);
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working', cause: 'usage_limit' });
    expect(await world.limits.goOn('coder@red')).toBe(true);
    expect(await world.limits.goOn('coder@red')).toBe(false);
    expect(await world.node(dagId, 'a')).toMatchObject({ status: 'working', cause: 'resumed', attempt: 1 });
    await expect.poll(() => world.sent.at(-1)?.text).toContain('The usage limit that stopped you is over.');
    expect(world.sent).toHaveLength(2);
    // Its time begins anew.
    await clock.advance(11 * 60_000);
    await world.until(dagId, (flow) => statuses(flow).a === 'failed');
  });

  test('is kept over a restart: what it cut off is not interrupted', async () => {
    const { world, clock, dagId } = await begun();
    world.limits.limited('coder@red', 'It tries again at 15:00.', true);
    await expect.poll(async () => (await world.node(dagId, 'a')).cause).toBe('usage_limit');
    await world.stop();
    const again = await openWorld({ workforce: red(), clock, folder: world.folder });
    expect(await again.node(dagId, 'a')).toMatchObject({ status: 'working', cause: 'usage_limit' });
    expect(await again.limits.goOn('coder@red')).toBe(true);
  });

  test('that nobody waits out asks a person; a bot that reports all the same has the step', async () => {
    const { world, dagId, nodeId } = await begun();
    world.limits.limited('coder@red', 'When that is over is not known.', false);
    await expect.poll(async () => (await world.node(dagId, 'a')).status).toBe('needs_you');
    await world.verbs.done({ dagId, nodeId }, coder, {});
    await world.until(dagId, (flow) => statuses(flow).a === 'done');
  });
});
