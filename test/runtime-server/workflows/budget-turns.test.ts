/** A budget that is used up in the middle of a turn, on the real loop of a hosted bot and on a shell in a pane. */
import { expect, test, vi } from 'vitest';
import type { NodePage } from '../../../src/contracts/factory/node.ts';
import type { RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { text, tools } from '../../support/model-server/script.ts';
import { type Engine, startEngine } from '../engine.ts';
import { openFloor, waits } from '../hosted-bots/support.ts';
import { makeSleep, startShells } from '../shells.ts';

async function start(engine: Engine, address: string, budget: Record<string, unknown>) {
  const steps = [{ id: 'a', title: 'Do a', executor: `bot:${address}`, silence: { minutes: 0 } }];
  engine.write('.gantry/templates/t.json', JSON.stringify({ budget, steps }));
  const run = await engine.call<RunStarted>('POST', '/runs', { template: 't', projectId: 'p' });
  expect(run.status, JSON.stringify(run.body)).toBe(200);
  return { dagId: run.body.dagId, nodeId: run.body.nodes[0]?.nodeId ?? '' };
}

const until = (engine: Engine, { dagId, nodeId }: { dagId: string; nodeId: string }, cause: string) =>
  vi.waitFor(async () => {
    const { body } = await engine.call<NodePage>('GET', `/nodes/${dagId}/${nodeId}`);
    expect(body.card.cause, JSON.stringify(body.card)).toBe(cause);
    return body;
  }, waits);

test('a hosted bot makes no request after the one that uses its budget up, and continues its step after a yes', async () => {
  const floor = await openFloor({ recheckMs: 200 });
  const { engine, server } = floor;
  const address = await floor.team('maker');
  let requests = 0;
  server.script((request) => {
    requests += 1;
    if (request.lastUser.includes('The budget that stopped you was raised')) {
      return tools({ name: 'node_done', input: { output: 'made' } });
    }
    return request.lastUser.includes('Step "Do a"') || requests > 1
      ? tools({ name: 'node_progress', input: { text: `request ${requests}` } })
      : text('?');
  });
  const step = await start(engine, address, { tokens: 1 });
  const { card, history } = await until(engine, step, 'over_budget');
  expect(card).toMatchObject({ status: 'needs_you', attempt: 1 });
  expect(history.map(({ status }) => status)).not.toContain('failed');
  await engine.until(address, 'idle');
  expect(requests).toBe(1);

  const question = await floor.question();
  expect(question).toMatchObject({ kind: 'budget', source: 'workflow', title: 't has used its budget' });
  const raised = await engine.call('PUT', '/budgets', { subject: `run:${step.dagId}`, budget: { tokens: 1_000_000 } });
  expect(raised.status, JSON.stringify(raised.body)).toBe(200);
  await vi.waitFor(async () => {
    const { body } = await engine.call<NodePage>('GET', `/nodes/${step.dagId}/${step.nodeId}`);
    expect(body.card.status, JSON.stringify(body.card)).toBe('done');
  }, waits);
  await vi.waitFor(async () => expect(await engine.approvals.live()).toEqual([]), waits);
});

test('a program in a pane is interrupted when its time is used up, and a no fails its step', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'coder');
  const address = `coder@${team}`;
  const step = await start(engine, address, { minutes: 0.1 });
  await until(engine, step, 'delivered');
  await makeSleep(engine, address);
  const { card } = await until(engine, step, 'over_budget');
  expect(card.detail).toMatch(/^It worked for 0\.\d of 0\.1 minutes\.$/);
  await engine.until(address, 'idle');
  const [question] = await vi.waitFor(async () => {
    const live = await engine.approvals.live();
    expect(live).toHaveLength(1);
    return live;
  }, waits);
  const resolvedBy = { user: 'user_local', surface: 'browser' };
  const at = new Date().toISOString();
  expect(
    await engine.approvals.answer({ id: question?.id ?? '', decision: 'reject', note: null, resolvedBy, at }),
  ).toBe('applied');
  await vi.waitFor(async () => {
    const { body } = await engine.call<NodePage>('GET', `/nodes/${step.dagId}/${step.nodeId}`);
    expect(body.card).toMatchObject({ status: 'failed', cause: 'over_budget' });
  }, waits);
});
