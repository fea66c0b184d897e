/** What is left to read of hosted and vendor bots: records of runs, tickets, and the ledger that tells of tool calls without their words. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Delivery, SendPlan } from '../../../src/contracts/factory/delivery.ts';
import type { AgentRun } from '../../../src/contracts/factory/work-engine/agent-runs.ts';
import type { Ticket } from '../../../src/contracts/factory/work-engine/tickets.ts';
import { inOrder, text, tools } from '../../support/model-server/script.ts';
import { type Floor, openFloor, waits } from './support.ts';

let floor: Floor;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  floor = await openFloor({ onEnd: (end) => void ends.push(end) });
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});
const runsOf = async (bot: string) =>
  (await floor.engine.call<{ runs: AgentRun[] }>('GET', `/agent-runs?bot=${bot}`)).body.runs;

test('each turn is a record with its source, what it used, what it said, or why it ended', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev', 'model: claude-haiku-4-5');
  server.script(inOrder(tools({ name: 'file_list', input: {} }), text('Nothing there.')));
  const sent = await floor.send(bot, 'List');
  await engine.until(bot, 'idle');
  const { id: botId } = await engine.agent(bot);
  const [run] = await runsOf(bot);
  const cents = (2 * (10 * 1 + 20 * 5)) / 10_000;
  expect(run).toMatchObject({ botId, source: { kind: 'message', ref: sent.id }, status: 'completed' });
  expect(run?.usage).toEqual({ inputTokens: 20, outputTokens: 40, cents });
  const whole = await engine.call<AgentRun>('GET', `/agent-runs/${run?.id}`);
  expect(whole.body).toMatchObject({ output: 'Nothing there.', endedAt: expect.any(String) });
  server.script(() => ({ kind: 'refusal', text: 'No.' }));
  await floor.send(bot, 'Again');
  await engine.until(bot, 'idle');
  await vi.waitFor(
    async () =>
      expect((await runsOf(bot))[0]).toMatchObject({ status: 'failed', error: expect.stringContaining('declined') }),
    waits,
  );
  const rows = await engine.store.read((tx) =>
    tx.all('SELECT run_id FROM model_spend WHERE run_id = ?', run?.id ?? ''),
  );
  expect(rows).toHaveLength(2);
});

test('a turn interrupted by the end of Gantry is a record that says so', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev');
  server.script(() => tools({ name: 'shell_exec', input: { command: 'true' } }));
  await floor.send(bot, 'Run');
  await floor.question();
  await engine.restart();
  expect((await runsOf(bot))[0]).toMatchObject({ status: 'interrupted', endedAt: expect.any(String) });
});

test('the ledger holds every call of a tool with its verdict and approval, and none of its words', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev');
  server.script(
    inOrder(
      tools(
        { name: 'file_write', input: { path: 'private.txt', content: 'very private words' } },
        { name: 'file_read', input: { path: 'private.txt' } },
      ),
      text('ok'),
    ),
  );
  await floor.send(bot, 'Write');
  const question = await floor.question();
  await floor.answer(question.id, 'approve');
  await engine.until(bot, 'idle');
  const { id } = await engine.agent(bot);
  const rows = (await engine.ledger.read('0', 10_000, ['tool.called'])).filter((row) => row.actor === id);
  expect(rows.map((row) => row.body)).toMatchObject([
    {
      tool: 'file.write',
      verdict: 'ask',
      approvalId: question.id,
      acted: true,
      isError: false,
      actionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
    },
    { tool: 'file.read', verdict: 'allow', approvalId: null, acted: true },
  ]);
  const all = await engine.ledger.read('0', 100_000);
  expect(JSON.stringify(all)).not.toContain('very private words');
  expect((await engine.ledger.verify()).ok).toBe(true);
});

test('what is sent to a vendor’s bot becomes a ticket in its thread: best effort, told as an event, once a key', async () => {
  const { engine } = floor;
  engine.team('out', 'bots:\n  - { bot: helper, vendor: acme }\n');
  await engine.call('GET', '/teams');
  expect(await engine.agent('helper@out')).toMatchObject({
    state: 'idle',
    binding: { type: 'vendor', vendor: 'acme' },
    pane: null,
  });
  const bare = await engine.call('POST', '/send', { to: 'helper@out', text: 'x' });
  expect(bare).toMatchObject({
    status: 400,
    body: { error: { code: 'usage', action: expect.stringContaining('threadId') } },
  });
  const thread = await floor.thread('helper@out');
  const request = {
    to: 'helper@out',
    text: 'Please mend the roof.\nIt leaks.',
    threadId: thread,
    idempotencyKey: 'roof-1',
  };
  const plan = await engine.call<SendPlan>('POST', '/send', { ...request, dryRun: true });
  expect(plan.body.plan).toMatchObject({
    via: 'vendor',
    records: ['delivery.accepted', 'message.recorded', 'vendor.ticket.created', 'delivery'],
  });
  const sent = await engine.call<Delivery>('POST', '/send', request);
  expect(sent.body).toMatchObject({
    via: 'vendor',
    state: 'best_effort',
    evidence: null,
    ticket: expect.stringMatching(/^ticket_/),
    threadId: thread,
  });
  expect((await engine.call<Delivery>('POST', '/send', request)).body.ticket).toBe(sent.body.ticket);
  const list = await engine.call<{ tickets: Ticket[] }>('GET', '/tickets?bot=helper@out&status=open');
  expect(list.body.tickets).toMatchObject([
    {
      id: sent.body.ticket,
      source: { kind: 'vendor', ref: sent.body.id },
      title: 'Please mend the roof.',
      threadId: thread,
      status: 'open',
    },
  ]);
  expect(await floor.messages(thread)).toMatchObject([{ direction: 'in', text: request.text }]);
  const rows = await engine.ledger.read('0', 100_000, ['vendor.ticket.created']);
  expect(rows.map((row) => row.body)).toMatchObject([{ ticketId: sent.body.ticket, threadId: thread }]);
});
