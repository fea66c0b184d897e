/** A limit in a whole engine: what waits before a bot in a pane, and the run whose step it has. */
import { expect, test } from 'vitest';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import type { NodePage } from '../../../src/contracts/factory/node.ts';
import type { Flow, RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { text } from '../../support/model-server/script.ts';
import { type Engine, startEngine, waitFor } from '../engine.ts';
import { openFloor } from '../hosted-bots/support.ts';
import { startShells } from '../shells.ts';

let spends = 0;

async function spend(engine: Engine, address: string, cents: number): Promise<void> {
  const { id } = await engine.agent(address);
  spends += 1;
  await engine.store.write((tx) =>
    tx.run(
      `INSERT INTO model_spend (id, at, agent_id, run_id, wire, model, input, cached_input, cache_write, output, micro_usd)
       VALUES (?, ?, ?, NULL, 'claude', 'm', 1, 0, 0, 1, ?)`,
      `claude:${spends}`,
      Date.now(),
      id,
      cents * 10_000,
    ),
  );
}

const limit = (engine: Engine, subject: string, dailyCents: number | null) =>
  engine.call('PUT', '/spending/limits', { subject, dailyCents });
const deliveries = async (engine: Engine) =>
  (await engine.call<{ deliveries: Delivery[] }>('GET', '/deliveries')).body.deliveries;
const delivered = (engine: Engine, id: string, state: string) =>
  waitFor(
    async () => (await deliveries(engine)).find((one) => one.id === id),
    (one) => one?.state === state,
  );

test('over its limit its queue is held with the reason; go on once lets one message through, raising lets all', async () => {
  const engine = await startEngine();
  const bot = `coder@${await startShells(engine, 'coder')}`;
  await spend(engine, bot, 500);
  expect((await limit(engine, bot, 500)).status).toBe(200);
  expect(await engine.until(bot, 'blocked')).toMatchObject({
    stateReason: expect.stringContaining('spent $5.00 of $5.00'),
  });
  const send = async (text: string) => (await engine.call<Delivery>('POST', '/send', { to: bot, text })).body;
  const first = await send('echo one');
  expect(first).toMatchObject({
    state: 'queued',
    detail: expect.stringContaining('Raise the limit or let it continue once'),
  });
  const second = await send('echo two');
  expect((await engine.call('POST', `/agents/${bot}/go-on`, {})).status).toBe(200);
  await delivered(engine, first.id, 'verified');
  await engine.until(bot, 'blocked');
  expect((await deliveries(engine)).find(({ id }) => id === second.id)?.state).toBe('queued');
  await limit(engine, bot, 501);
  await delivered(engine, second.id, 'verified');
  expect((await engine.call('POST', `/agents/${bot}/go-on`, {})).status).toBe(409);
});

test('what waits before a bot that may spend no more waits through a restart', async () => {
  const { engine, server, ...floor } = await openFloor();
  server.script(() => text('done'));
  const bot = await floor.team('maker');
  await spend(engine, bot, 500);
  await limit(engine, bot, 500);
  await engine.until(bot, 'blocked');
  const sent = await floor.send(bot, 'go on');
  expect(sent.state).toBe('queued');
  await engine.restart();
  await engine.until(bot, 'blocked');
  expect(server.requests).toHaveLength(0);
  expect(await floor.delivery(sent.id, bot)).toMatchObject({ state: 'queued' });
});

test('the step of a run waits as a question to a person, through a restart, and goes on when the limit is raised', async () => {
  const engine = await startEngine();
  const team = await startShells(engine, 'coder');
  const bot = `coder@${team}`;
  engine.write(
    '.gantry/templates/fix.json',
    JSON.stringify({ steps: [{ id: 'fix', title: 'Fix it', executor: 'bot:coder' }] }),
  );
  await spend(engine, bot, 100);
  await limit(engine, team, 100);
  const request = { template: 'fix', projectId: 'p', team };
  const { body: run } = await engine.call<RunStarted>('POST', '/runs', request);
  const nodeId = run.nodes[0]?.nodeId ?? '';
  const node = async () => (await engine.call<NodePage>('GET', `/nodes/${run.dagId}/${nodeId}`)).body.card;
  const asked = await waitFor(node, ({ status }) => status === 'needs_you');
  expect(asked).toMatchObject({
    cause: 'budget',
    detail: expect.stringContaining(`the team ${team} spent $1.00 of $1.00 a day`),
  });
  // Its message lies in the queue: a second one would be typed beside it.
  expect((await engine.call('POST', `/nodes/${run.dagId}/${nodeId}/retry`, {})).status).toBe(409);
  await engine.restart();
  await engine.until(bot, 'blocked');
  expect(await node()).toMatchObject({ status: 'needs_you', cause: 'budget' });
  expect(engine.told.filter(({ type }) => type === 'thread.needs_user')).toHaveLength(1);
  await limit(engine, team, null);
  await waitFor(node, ({ status }) => status === 'working');
  const { body: flow } = await engine.call<Flow>('GET', `/dags/${run.dagId}`);
  expect(flow.status).toBe('running');
});
