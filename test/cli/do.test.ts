/** `gantry do`: what it asks the engine for, what it prints, and how it ends. */
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { AppError } from '../../src/contracts/common/errors.ts';
import type { QuickBot, QuickRun } from '../../src/contracts/factory/quick-run-routes.ts';
import { at, run, startEngine } from './support.ts';

const bot = (name: string, change: Partial<QuickBot> = {}): QuickBot => ({
  agentId: `agent_${name}`,
  address: `${name}@fix-1a2b`,
  name,
  team: 'fix-1a2b',
  harness: 'claude',
  model: null,
  sandbox: 'none',
  dagId: 'dag_1',
  nodeId: `node_${name}`,
  status: 'working',
  state: 'working',
  stateReason: null,
  lastLine: 'Reading the test.',
  branch: `gantry/fix-1a2b/${name}`,
  diff: { files: 2, added: 10, removed: 3 },
  outcome: null,
  outcomeAt: null,
  ...change,
});
const quickRun = (bots: QuickBot[], change: Partial<QuickRun> = {}): QuickRun => ({
  id: 'dag_1',
  title: 'Fix it',
  prompt: 'Fix it',
  repository: '/r',
  baseBranch: 'main',
  baseCommit: 'a'.repeat(40),
  startedAt: at,
  status: 'running',
  savedAs: null,
  bots,
  ...change,
});
const plan = {
  title: 'Fix it',
  repository: '/r',
  baseBranch: 'main',
  baseCommit: 'a'.repeat(40),
  bots: [{ name: 'claude', harness: 'claude', model: null, sandbox: 'closed' }],
};

const engineWith = (given: QuickRun = quickRun([bot('claude')]), flow = 'done') =>
  startEngine({
    answers: {
      startQuickRun: ({ body }) => ((body as { dryRun?: boolean }).dryRun === true ? { dryRun: true, plan } : given),
      quickRunChoices: () => ({
        repositories: [],
        programs: [
          { harness: 'codex', installed: true, signedIn: true, version: '1', fix: null },
          { harness: 'claude', installed: true, signedIn: false, version: '1', fix: 'claude' },
        ],
        models: [],
        providers: [],
      }),
      getFlow: () => ({ dagId: 'dag_1', title: 'Fix it', campaignId: 'quick', status: flow, nodes: [], edges: [] }),
      getQuickRun: () => given,
      listQuickRuns: () => ({ runs: [given], nextCursor: null }),
      endQuickRun: ({ body }) =>
        (body as { dryRun?: boolean }).dryRun === true
          ? { dryRun: true, plan: { steps: ['stop claude@fix-1a2b'] } }
          : { run: given, steps: [] },
    },
  });
const bodyOf = (engine: Awaited<ReturnType<typeof engineWith>>, op: string) =>
  engine.seen.find((one) => one.op === op)?.body;

test('a prompt with programs and models becomes one request, for the folder that is named', async () => {
  const engine = await engineWith();
  const ran = await run(engine.env, [
    ...['do', 'fix', 'it', '--repo', 'some/where', '--agent', 'claude', '--agent', 'codex'],
    ...['--model', 'local/tiny', '--title', 'Fix it', '--budget', '2.50', '--budget-minutes', '30'],
  ]);
  expect(bodyOf(engine, 'startQuickRun')).toEqual({
    repository: resolve('some/where'),
    prompt: 'fix it',
    who: [{ harness: 'claude' }, { harness: 'codex' }, { model: 'local/tiny' }],
    title: 'Fix it',
    budget: { usd: 2.5, minutes: 30 },
    dryRun: false,
  });
  expect([ran.code, ran.out]).toEqual([
    0,
    'Run dag_1 has started: claude@fix-1a2b.\nWatch it: npx gantry workflows watch dag_1\n',
  ]);
});

test('without a program the first one that is signed in is taken, in the current folder', async () => {
  const engine = await engineWith();
  expect((await run(engine.env, ['do', 'fix it', '--json'])).json()).toMatchObject({ id: 'dag_1' });
  expect(bodyOf(engine, 'startQuickRun')).toMatchObject({ repository: process.cwd(), who: [{ harness: 'codex' }] });
});

test('--dry-run starts nothing and says who would work where', async () => {
  const engine = await engineWith();
  const { code, out } = await run(engine.env, ['do', 'fix it', '--agent', 'claude', '--dry-run']);
  expect([code, out]).toEqual([0, expect.stringContaining('Nothing was started: these would work in /r at main.')]);
});

test.each([
  ['done', 0],
  ['degraded', 0],
  ['failed', 1],
  ['cancelled', 1],
  ['needs_you', 5],
])('--wait ends with the exit code of a run that is %s', async (status, code) => {
  const engine = await engineWith(quickRun([bot('claude', { status: 'done' })]), status);
  const ran = await run(engine.env, ['do', 'fix it', '--agent', 'claude', '--wait']);
  expect(ran.code).toBe(code);
  expect(ran.out).toContain('2 files +10 -3');
  expect(ran.out).toContain('Merge it: npx gantry do --merge dag_1');
});

test('files that wait for a yes end it with exit code 5, and nothing is started', async () => {
  const engine = await startEngine({
    answers: {
      startQuickRun: () => {
        throw new AppError('needs_person', '/r/.gemini/settings.json waits for your yes.', 'Review it: gantry trust');
      },
    },
  });
  const ran = await run(engine.env, ['do', 'fix it', '--agent', 'gemini']);
  expect(ran.code).toBe(5);
  expect(ran.err).toContain('/r/.gemini/settings.json');
});

test('a typing mistake is refused before anything is asked', async () => {
  const engine = await engineWith();
  for (const [argv, words] of [
    [['do'], /no prompt/],
    [['do', '--agent', 'claude', 'fix the test'], /"fix the test" is not an agent program/],
    [['do', 'fix', '--agent', 'nonsense'], /"nonsense" is not an agent program/],
  ] as const) {
    const ran = await run(engine.env, argv);
    expect([ran.code, ran.err]).toEqual([64, expect.stringMatching(words)]);
  }
  expect(engine.seen.map(({ op }) => op)).toEqual([]);
});

test('--list shows each bot with its changes and outcome', async () => {
  const engine = await engineWith(quickRun([bot('claude', { outcome: 'merged' }), bot('codex', { diff: null })]));
  const { code, out } = await run(engine.env, ['do', '--list']);
  expect(code).toBe(0);
  expect(out).toMatch(/dag_1 +claude +working +2 files \+10 -3 +merged/);
  expect(out).toMatch(/dag_1 +codex +working +- +-/);
});

test('an end names the only bot itself, and asks which of several', async () => {
  const one = await engineWith();
  expect(await run(one.env, ['do', '--merge', 'dag_1'])).toMatchObject({
    code: 0,
    out: 'The work of claude is merged.\n',
  });
  expect(bodyOf(one, 'endQuickRun')).toEqual({ bot: 'claude', outcome: 'merged', dryRun: false });
  const dry = await run(one.env, ['do', '--discard', 'dag_1', '--dry-run']);
  expect(dry.out).toBe('Would:\n  stop claude@fix-1a2b\n');
  expect((await run(one.env, ['do', '--discard', 'dag_1'])).out).toBe(
    'The work of claude is discarded; --keep brings its branch back.\n',
  );
  const idle = await engineWith(quickRun([bot('claude', { branch: null })]));
  expect((await run(idle.env, ['do', '--discard', 'dag_1'])).out).toBe(
    'The work of claude is discarded; it had changed nothing.\n',
  );

  const two = await engineWith(quickRun([bot('claude'), bot('codex')]));
  expect(await run(two.env, ['do', '--keep', 'dag_1'])).toMatchObject({ code: 64 });
  expect(await run(two.env, ['do', '--keep', 'dag_1', '--bot', 'codex'])).toMatchObject({ code: 0 });
  expect(bodyOf(two, 'endQuickRun')).toMatchObject({ bot: 'codex', outcome: 'kept' });
});
