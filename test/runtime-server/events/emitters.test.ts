/** Who tells of what: a whole engine, with what reaches the home cloud read at its door. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { EventType } from '../../../src/contracts/events/registry.ts';
import { findNotifiable } from '../../../src/contracts/events/registry.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import type { Mail } from '../../../src/contracts/factory/work-engine/mail.ts';
import { text, tools } from '../../support/model-server/script.ts';
import { type Floor, openFloor, waits } from '../hosted-bots/support.ts';
import { startShells } from '../shells.ts';

let floor: Floor;
const ends: (() => Promise<void>)[] = [];
beforeAll(async () => {
  floor = await openFloor({ onEnd: (end) => void ends.push(end) });
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

const told = (type: EventType['type']) => floor.engine.told.filter((event) => event.type === type);

/** The newest of a type, once there are so many; what the registry says of its data holds. */
async function heard(type: EventType['type'], count: number): Promise<Record<string, unknown>> {
  await vi.waitFor(() => expect(told(type)).toHaveLength(count), waits);
  const { data } = told(type).at(-1)!;
  expect(findNotifiable(type)?.payload.safeParse(data).error).toBeUndefined();
  return data;
}

test('the run of a hosted bot is told when it ends, well or badly', async () => {
  const { engine, server } = floor;
  const bot = await floor.team('dev', 'model: claude-haiku-4-5');
  server.script(() => text('All is well.\nIn two lines.'));
  await floor.send(bot, 'Look');
  const { id: botId } = await engine.agent(bot);
  const done = await heard('agent.run.completed', 1);
  expect(done).toMatchObject({ botId, botName: 'dev', status: 'completed', title: 'All is well.' });
  server.script(() => ({ kind: 'refusal', text: 'No.' }));
  await floor.send(bot, 'Again');
  expect(await heard('agent.run.completed', 2)).toMatchObject({ botId, status: 'failed' });
});

test('a bot that needs its person is told of once, unless it asks by an approval', async () => {
  const { engine, server } = floor;
  server.script(() => tools({ name: 'shell_exec', input: { command: 'true' } }));
  const asking = await floor.team('asker');
  await floor.send(asking, 'Run');
  const question = await floor.question();
  await engine.until(asking, 'needs_you');

  const [team] = [await startShells(engine, 'a')];
  const shell = `a@${team}`;
  const { id: botId } = await engine.agent(shell);
  await engine.call('POST', `/agents/${shell}/input`, { text: 'echo "unfinished', keys: ['Enter'] });
  await engine.until(shell, 'needs_you');
  const needs = await heard('thread.needs_user', 1);
  expect(needs).toMatchObject({ botId, botName: 'a', reason: expect.stringContaining('unfinished command') });
  await floor.answer(question.id, 'reject');
  await engine.call('POST', `/agents/${shell}/input`, { text: '"', keys: ['Enter'] });
  await engine.until(shell, 'idle');
  expect(told('thread.needs_user')).toHaveLength(1);
});

test('mail from a bot to its person is told, and no other mail', async () => {
  const { engine } = floor;
  const team = await startShells(engine, 'x', 'y');
  const token = await engine.botToken(`x@${team}`);
  const mail = (to: string, as?: string) => {
    const options = as === undefined ? {} : { token: as };
    return engine.call<Mail>('POST', '/mail', { to, subject: `For ${to}`, text: 'Hello' }, options);
  };
  expect((await mail(`y@${team}`, token)).status).toBe(201);
  expect((await mail(`y@${team}`)).status).toBe(201);
  const sent = await mail('owner', token);
  expect(sent.status).toBe(201);
  const item = await heard('inbox.item.created', 1);
  expect(item).toMatchObject({ itemId: sent.body.id, title: 'For owner', botName: 'x' });
});

test('what a vendor’s bot is sent is told as its ticket', async () => {
  const { engine } = floor;
  engine.team('out', 'bots:\n  - { bot: helper, vendor: acme }\n');
  expect((await engine.call('POST', '/teams/out/up', {})).status).toBe(200);
  const threadId = await floor.thread('helper@out');
  const order = { to: 'helper@out', text: 'Order paper\nplease', threadId };
  const sent = await engine.call<Delivery>('POST', '/send', order);
  expect(sent.body, JSON.stringify(sent.body)).toMatchObject({ via: 'vendor' });
  const ticket = await heard('vendor.ticket.created', 1);
  expect(ticket).toMatchObject({
    threadId,
    ticketId: sent.body.ticket,
    botName: 'helper',
    title: expect.stringMatching(/^Order/),
  });
});

test('a flow is told when it has ended, and a step of it when it waits for its person', async () => {
  const { engine } = floor;
  const before = told('agent.run.completed').length;
  const step = (id: string, more: object) => ({ id, title: `Step ${id}`, description: id, executor: 'shell', ...more });
  const steps = [step('one', { command: 'exit 3', on_fail: 'ask' })];
  engine.write('.gantry/templates/ask.json', JSON.stringify({ id: 'ask', name: 'Ask', description: 'd', steps }));
  const started = await engine.call<{ dagId: string }>('POST', '/runs', { template: 'ask', projectId: 'p' });
  expect(started.status, JSON.stringify(started.body)).toBeLessThan(300);
  const { dagId } = started.body;
  const needs = await heard('thread.needs_user', 2);
  expect(needs).toMatchObject({ dagId, reason: expect.stringMatching(/^Ask\nStep one: ./) });
  await engine.call('POST', `/dags/${dagId}/cancel`, {});
  const ended = await heard('agent.run.completed', before + 1);
  expect(ended).toMatchObject({ runId: dagId, status: 'cancelled', title: 'Ask' });

  const bad = [step('one', { command: 'echo no such file >&2; exit 3' })];
  engine.write('.gantry/templates/bad.json', JSON.stringify({ id: 'bad', name: 'Bad', description: 'd', steps: bad }));
  const failing = await engine.call<{ dagId: string }>('POST', '/runs', { template: 'bad', projectId: 'p' });
  const failed = await heard('agent.run.completed', before + 2);
  // Its name, and the cause below it.
  expect(failed).toMatchObject({
    runId: failing.body.dagId,
    status: 'failed',
    title: expect.stringMatching(/^Bad\nStep one: .*3/),
  });
});
