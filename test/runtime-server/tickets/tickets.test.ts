import { expect, test } from 'vitest';
import type { AgentRun } from '../../../src/contracts/factory/work-engine/agent-runs.ts';
import type { Ticket } from '../../../src/contracts/factory/work-engine/tickets.ts';
import { iso } from '../../../src/kit/clock/clock.ts';
import { createAgentRuns } from '../../../src/runtime-server/agent-runs/agent-runs.ts';
import type { EnginePartDeps } from '../../../src/runtime-server/parties/part.ts';
import { createTickets } from '../../../src/runtime-server/tickets/tickets.ts';
import { type Bot, twoBots } from '../work-engine/two-bots.ts';

const bots = twoBots();
const at = Date.parse('2026-01-02T03:04:05.000Z');

/** The writers, as what brings tickets and runs bots has them. */
function writers() {
  const { engine } = bots;
  const deps = { store: engine.store, ledger: engine.ledger, workspace: engine.workspace } as EnginePartDeps;
  return { tickets: createTickets(deps).writer, runs: createAgentRuns(deps).writer };
}

test('one source opens one ticket, whatever comes with it the second time', async () => {
  const { engine, a } = bots;
  const { tickets } = writers();
  const ticket = { botId: a.id, title: 'A mail came', data: { n: 1 }, threadId: null, at };
  const source = { kind: 'connector' as const, ref: 'mcp-event:sub_1:e1' };
  const open = (id: string, more = {}) =>
    engine.store.write((tx) => tickets.open(tx, { id, source, ...ticket, ...more }));
  expect(await open('ticket_1')).toEqual({ id: 'ticket_1', opened: true });
  expect(await open('ticket_2', { data: { n: 2 } })).toEqual({ id: 'ticket_1', opened: false });
  const { body } = await bots.call<Ticket>('GET', '/tickets/ticket_1');
  expect(body).toMatchObject({ botId: a.id, source, data: { n: 1 }, status: 'open', createdAt: iso(at) });
});

test('a bot sees and closes its own tickets alone', async () => {
  const { engine, a, b } = bots;
  const { tickets } = writers();
  await engine.store.write((tx) =>
    tickets.open(tx, {
      id: 'ticket_9',
      botId: a.id,
      source: { kind: 'vendor', ref: 'delivery_1' },
      title: 't',
      data: null,
      threadId: 'thread_1',
      at,
    }),
  );
  const list = async (bot: Bot, query = '') =>
    bots.call<{ tickets: Ticket[] }>('GET', `/tickets${query}`, undefined, bot);
  expect((await list(a)).body.tickets.map((one) => one.id)).toContain('ticket_9');
  expect((await list(b)).body.tickets).toEqual([]);
  expect((await list(b, `?bot=${a.address}`)).status).toBe(403);
  const close = (bot: Bot, body = {}) => bots.call<Ticket>('POST', '/tickets/ticket_9/close', body, bot);
  expect((await close(b)).status).toBe(404);
  expect((await close(a, { dryRun: true })).body).toMatchObject({ dryRun: true, plan: { records: ['ticket.closed'] } });
  expect((await close(a, { note: 'done' })).body.status).toBe('closed');
  const rows = await engine.ledger.query({ subject: 'ticket:ticket_9', order: 'ascending', limit: 10 });
  expect(rows.map((row) => row.type)).toEqual(['ticket.closed']);
  expect((await bots.call('POST', '/triggers', { botId: a.id, title: 't' }, a)).status).toBe(403);
});

test('a record of a run is ended once, listed without its output, and read by its own bot alone', async () => {
  const { engine, a, b } = bots;
  const { runs } = writers();
  const source = { kind: 'workflow' as const, ref: 'dag_1/node_1' };
  await engine.store.write((tx) => runs.begin(tx, { id: 'run_1', botId: a.id, source, at }));
  const read = (bot?: Bot) => bots.call<AgentRun>('GET', '/agent-runs/run_1', undefined, bot);
  expect((await read()).body).toMatchObject({ status: 'running', endedAt: null, usage: null });
  const usage = { inputTokens: 10, outputTokens: 3, cents: 0.4 };
  const end = (status: 'completed' | 'failed', output: string | null) =>
    engine.store.write((tx) => runs.end(tx, 'run_1', { status, at: at + 1000, usage, output, error: null }));
  await end('completed', 'It is done.');
  await end('failed', null);
  expect((await read(a)).body).toEqual({
    id: 'run_1',
    botId: a.id,
    source,
    status: 'completed',
    startedAt: iso(at),
    endedAt: iso(at + 1000),
    usage,
    output: 'It is done.',
  });
  expect((await read(b)).status).toBe(404);
  const list = async (query: string, bot?: Bot) =>
    (await bots.call<{ runs: AgentRun[] }>('GET', `/agent-runs?${query}`, undefined, bot)).body.runs;
  const [listed] = await list('source=workflow&ref=dag_1/node_1&status=completed');
  expect(listed).toMatchObject({ id: 'run_1' });
  expect(listed).not.toHaveProperty('output');
  expect(await list('', b)).toEqual([]);
  expect(await list('status=running')).toEqual([]);
});
