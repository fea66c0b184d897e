/** Silence as it is seen of real bots: a shell in a pane and a model in Gantry's own loop. */
import { expect, test, vi } from 'vitest';
import type { NodePage } from '../../../src/contracts/factory/node.ts';
import type { RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { sentenceOf } from '../../../src/runtime-server/workflows/watch.ts';
import { text, tools } from '../../support/model-server/script.ts';
import { type Engine, startEngine } from '../engine.ts';
import { openFloor, steps, waits } from '../hosted-bots/support.ts';
import { startShells } from '../shells.ts';

async function start(engine: Engine, address: string, silence: Record<string, unknown>) {
  engine.write(
    '.gantry/templates/t.json',
    JSON.stringify({ steps: [{ id: 'a', title: 'Do a', executor: `bot:${address}`, silence }] }),
  );
  const run = await engine.call<RunStarted>('POST', '/runs', { template: 't', projectId: 'p' });
  expect(run.status, JSON.stringify(run.body)).toBe(200);
  return { dagId: run.body.dagId, nodeId: run.body.nodes[0]?.nodeId ?? '' };
}

const page = async (engine: Engine, { dagId, nodeId }: { dagId: string; nodeId: string }) =>
  (await engine.call<NodePage>('GET', `/nodes/${dagId}/${nodeId}`)).body;
const until = (engine: Engine, step: { dagId: string; nodeId: string }, cause: string) =>
  vi.waitFor(async () => {
    const { card } = await page(engine, step);
    expect(card.cause, JSON.stringify(card)).toBe(cause);
    return card;
  }, waits);

test('a shell at its prompt stalls its step, says why beside its state, and goes on when somebody types', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'coder');
  const address = `coder@${team}`;
  const step = await start(engine, address, { minutes: 0.03, nudge: false });
  const card = await until(engine, step, 'stalled');
  expect(card).toMatchObject({ status: 'needs_you', needsYou: true, assignee: address });
  expect(card.detail).toMatch(
    /^Nothing for \d+ seconds: it is at its prompt and has not reported; \d+ process(es)?, (none at work|at work: .+)\.$/,
  );
  await vi.waitFor(async () => expect((await engine.agent(address)).stateReason).toBe(card.detail), waits);
  expect((await engine.agent(address)).state).toBe('idle');

  await engine.call('POST', `/agents/${address}/input`, { text: 'echo a new word', keys: ['Enter'] });
  await until(engine, step, 'resumed');
  const { history } = await page(engine, step);
  expect(history.map(({ cause }) => cause)).toEqual(expect.arrayContaining(['delivered', 'stalled', 'resumed']));
  await engine.call('POST', `/nodes/${step.dagId}/${step.nodeId}/fail`, { reason: 'enough' });
  await vi.waitFor(async () => expect((await engine.agent(address)).stateReason).toBeNull(), waits);
});

test('a request to a model that takes longer than the lease is activity until it ends', async () => {
  const floor = await openFloor();
  const { engine, server } = floor;
  const address = await floor.team('slow');
  server.script(
    steps(
      async () => {
        // Three times the lease: nothing but time shows that a request under way is no silence.
        await new Promise((resolve) => setTimeout(resolve, 3600));
        return tools({ name: 'node_done', input: { output: 'made' } });
      },
      () => text('Done.'),
    ),
  );
  const step = await start(engine, address, { minutes: 0.02, nudge: false });
  const { history } = await vi.waitFor(async () => {
    const now = await page(engine, step);
    expect(now.card.status, JSON.stringify(now.card)).toBe('done');
    return now;
  }, waits);
  expect(history.map(({ cause }) => cause)).not.toContain('stalled');
});

test('what is seen is one sentence', () => {
  const found = {
    quietMs: 20 * 60_000,
    state: 'working',
    reason: null,
    transcriptMs: 21 * 60_000,
    processes: { all: 3, busy: ['node', 'vitest'] },
    changed: 1,
    spooled: 2,
  };
  expect(sentenceOf(found)).toBe(
    'Nothing for 20 minutes: it is in a turn; its transcript was last written 21 minutes ago; 3 processes, at work: node, vitest; 1 changed file without a commit; 2 reports in its spool.',
  );
  expect(
    sentenceOf({
      ...found,
      state: 'offline',
      reason: 'stopped',
      transcriptMs: null,
      processes: null,
      changed: 0,
      spooled: 0,
    }),
  ).toBe('Nothing for 20 minutes: it is offline (stopped); no changed files without a commit.');
});
