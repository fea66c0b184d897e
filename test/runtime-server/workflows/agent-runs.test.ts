/** Records of bots in terminals that work on steps, on a whole engine: read over its doors, by the bots' own tokens where they act. */
import { expect, test } from 'vitest';
import type { AgentRun } from '../../../src/contracts/factory/work-engine/agent-runs.ts';
import type { Flow, RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { sharedEngine, waitFor } from '../engine.ts';

const shared = sharedEngine();
let count = 0;

/** A team that is up, with a coder whose work a tester checks where `checked`; and a run of these steps. */
async function floor(steps: readonly Record<string, unknown>[], checked = false) {
  const engine = shared.current;
  count += 1;
  const team = `r${count}`;
  const bots = 'bots:\n  - { bot: coder, role: coder, harness: shell }\n  - { bot: tester, harness: shell }\n';
  engine.team(team, `${bots}${checked ? 'edges:\n  - { kind: checks, from: tester, to: coder }\n' : ''}`);
  engine.write(`.gantry/templates/${team}.json`, JSON.stringify({ steps }));
  await engine.call('POST', `/teams/${team}/up`, {});
  for (const bot of ['coder', 'tester']) await engine.until(`${bot}@${team}`, 'idle');
  const { body } = await engine.call<RunStarted>('POST', '/runs', { template: team, projectId: team, team });
  const { dagId } = body;
  const id = async (bot: string) => (await engine.agent(`${bot}@${team}`)).id;
  return {
    dagId,
    id,
    of: async (bot: string) =>
      (await engine.call<{ runs: AgentRun[] }>('GET', `/agent-runs?bot=${bot}@${team}`)).body.runs,
    /** One record with what the list leaves out. */
    whole: async (run: AgentRun | undefined) => (await engine.call<AgentRun>('GET', `/agent-runs/${run?.id}`)).body,
    until: (step: string, status: string, cause?: string) =>
      waitFor(
        () => engine.call<Flow>('GET', `/dags/${dagId}`),
        ({ body: flow }) =>
          flow.nodes.some(
            (node) => node.stepId === step && node.status === status && (cause ?? node.cause) === node.cause,
          ),
      ),
    says: async (bot: string, step: string, verb: string, body: unknown = {}) => {
      const token = await engine.botToken(`${bot}@${team}`);
      return engine.call('POST', `/nodes/${dagId}/${step}/${verb}`, body, { token });
    },
    person: (step: string, verb: string, body: unknown = {}) =>
      engine.call('POST', `/nodes/${dagId}/${step}/${verb}`, body),
    nodeId: async (step: string) =>
      (await engine.call<Flow>('GET', `/dags/${dagId}`)).body.nodes.find((node) => node.stepId === step)?.nodeId,
  };
}
const fix = { id: 'fix', title: 'Fix it', executor: 'role:coder' };

test('a step that a bot in a pane carries out is one record: running while it works, then completed with what it gave', async () => {
  const engine = shared.current;
  const run = await floor([
    { id: 'look', command: 'echo seen' },
    { ...fix, blocked_by: ['look'] },
  ]);
  await run.until('fix', 'working');
  const source = { kind: 'workflow', ref: `${run.dagId}/${await run.nodeId('fix')}` };
  const botId = await run.id('coder');
  expect(await run.of('coder')).toMatchObject([{ botId, source, status: 'running', endedAt: null, usage: null }]);
  // What is only tried out ends nothing.
  expect((await run.says('coder', 'fix', 'done', { dryRun: true })).body).toMatchObject({ plan: { to: 'done' } });
  expect(await run.of('coder')).toMatchObject([{ status: 'running' }]);
  expect((await run.says('coder', 'fix', 'done', { output: 'tightened' })).status).toBe(200);
  const runs = await run.of('coder');
  expect(runs).toMatchObject([{ status: 'completed', endedAt: expect.any(String) }]);
  const whole = await run.whole(runs[0]);
  expect(whole).toMatchObject({ output: 'tightened', usage: null });
  expect(whole.error).toBeUndefined();
  // The command of the first step was nobody's run.
  const all = await engine.call<{ runs: AgentRun[] }>('GET', '/agent-runs?source=workflow');
  expect(all.body.runs.filter((one) => one.source.ref.startsWith(run.dagId))).toHaveLength(1);
});

test('each attempt is a record of its own: given up, tried again, taken away by a cancel', async () => {
  const run = await floor([{ ...fix, on_fail: 'ask' }]);
  await run.until('fix', 'working');
  await run.says('coder', 'fix', 'fail', { reason: 'no screwdriver' });
  const [first] = await run.of('coder');
  expect(await run.whole(first)).toMatchObject({ status: 'failed', error: 'no screwdriver' });
  await run.person('fix', 'retry');
  await run.until('fix', 'working');
  expect((await run.of('coder')).map((one) => one.status)).toEqual(['running', 'failed']);
  await shared.current.call('POST', `/dags/${run.dagId}/cancel`, {});
  await run.says('coder', 'fix', 'done', { output: 'half' });
  const [second] = await run.of('coder');
  expect(await run.whole(second)).toMatchObject({ status: 'cancelled', output: 'half', endedAt: expect.any(String) });
});

test('a bot that checks has a record, too: completed by its verdict either way, cancelled when a person decided first', async () => {
  const run = await floor([{ ...fix, on_fail: 'ask' }], true);
  await run.until('fix', 'working');
  await run.says('coder', 'fix', 'done', { output: 'once' });
  const checking = () =>
    waitFor(
      () => run.of('tester'),
      (runs) => runs[0]?.status === 'running',
    );
  await checking();
  expect(await run.of('coder')).toMatchObject([{ status: 'completed' }]);
  await run.says('tester', 'fix', 'fail', { reason: 'still loose' });
  const [verdict] = await run.of('tester');
  expect(await run.whole(verdict)).toMatchObject({
    source: { kind: 'workflow', ref: `${run.dagId}/${await run.nodeId('fix')}` },
    status: 'completed',
    output: expect.stringContaining('still loose'),
  });
  await run.person('fix', 'retry');
  await run.until('fix', 'working');
  await run.says('coder', 'fix', 'done', { output: 'twice' });
  await checking();
  await run.person('fix', 'done', { note: 'good enough' });
  await run.until('fix', 'done', 'accepted');
  expect((await run.of('tester')).map((one) => one.status)).toEqual(['cancelled', 'completed']);
  expect((await run.of('coder')).map((one) => one.status)).toEqual(['completed', 'completed']);
});

test('what Gantry’s end cut off is interrupted, never open; a bot that went on in its pane has another record', async () => {
  const run = await floor([fix]);
  await run.until('fix', 'working');
  await shared.current.restart();
  await run.until('fix', 'needs_you', 'interrupted');
  const [first, ...more] = await run.of('coder');
  expect(more).toEqual([]);
  expect(await run.whole(first)).toMatchObject({
    status: 'interrupted',
    endedAt: expect.any(String),
    error: expect.stringContaining('Gantry stopped during attempt 1.'),
  });
  await shared.current.until(`coder@r${count}`, 'idle');
  await run.says('coder', 'fix', 'progress', { text: 'still at it' });
  expect((await run.of('coder')).map((one) => one.status)).toEqual(['running', 'interrupted']);
  await run.says('coder', 'fix', 'done');
  expect((await run.of('coder')).map((one) => one.status)).toEqual(['completed', 'interrupted']);
});
