/** Texts between the cloud and bots on this computer: the engine is real, the cloud is what answers the signed calls. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import type { RelayedText } from '../../../src/contracts/phone/texts.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import type { BoundRoute } from '../../../src/kit/http/types.ts';
import { createLanes } from '../../../src/kit/lane/create-lanes.ts';
import { type ChannelOut, createPhone, type Phone } from '../../../src/runtime-server/phone/index.ts';
import { type Engine, startEngine } from '../engine.ts';
import { startShells } from '../shells.ts';

interface Said {
  readonly path: string;
  readonly body: unknown;
  readonly idempotencyKey?: string;
}

/** What the cloud knows and hears. */
interface Cloud {
  numbers: { id: string; e164: string; botId: string }[];
  readonly sent: Said[];
  answer: { status: number; body: unknown };
}

const number = (id: string, botId: string) => ({
  id,
  e164: '+19705550101',
  type: 'local',
  country: 'US',
  locality: null,
  monthlyCost: null,
  carrier: 'simulator',
  smsState: 'active',
  voiceState: 'active',
  runtimeId: 'computer_1',
  botId,
  port: null,
  createdAt: '2026-11-22T10:00:00.000Z',
});

async function start(): Promise<{ engine: Engine; phone: Phone; cloud: Cloud; web: string; team: string }> {
  const cloud: Cloud = {
    numbers: [],
    sent: [],
    answer: { status: 200, body: { ok: true, messageId: 'text_1', parts: 1 } },
  };
  let phone: Phone | null = null;
  let moved: Parameters<ChannelOut['onMoved']>[0] = () => {};
  const channelOut: ChannelOut = {
    append: (tx, text) => phone?.out.append(tx, text),
    onMoved(listener) {
      moved = listener;
    },
  };
  const engine = await startEngine({ channelOut });
  phone = createPhone({
    store: engine.store,
    clock: systemClock,
    log: { warn: (message, facts) => console.warn(message, facts) },
    openLanes: (worker) =>
      createLanes({ store: engine.store, clock: systemClock, name: 'texts', ...worker, backoffMs: [20] }),
    async call({ path, body, ...more }) {
      if (path === '/api/v1/phone/numbers') return { status: 200, body: { numbers: cloud.numbers } };
      cloud.sent.push({ path, body, ...('idempotencyKey' in more && { idempotencyKey: more.idempotencyKey }) });
      return cloud.answer;
    },
  });
  phone.out.onMoved((...told) => moved(...told));
  const team = await startShells(engine, 'web', 'api');
  const { id: web } = await engine.agent(`web@${team}`);
  cloud.numbers = [number('num_1', web)];
  await phone.start();
  const { close } = phone;
  onTestFinished(() => close());
  return { engine, phone, cloud, web, team };
}

const incoming = (botId: string, text: string, messageId = 'text_in_1'): RelayedText => ({
  provider: 'sms',
  messageId,
  numberId: 'num_1',
  botId,
  from: '+12025550123',
  to: '+19705550101',
  text,
  media: [],
  receivedAt: '2026-11-22T10:00:00.000Z',
  attempt: 1,
});

/** The route as its dispatcher calls it; that only a device gets there, the walk over all routes shows. */
async function bring({ engine, phone }: { engine: Engine; phone: Phone }, body: RelayedText): Promise<unknown> {
  const route = phone.routes(engine.factory.channels).find(({ route: { op } }) => op === 'deliverText') as BoundRoute;
  return route.handler({ body } as never);
}

const threads = async (engine: Engine) =>
  (await engine.call<{ threads: { id: string; botId: string; channel: unknown }[] }>('GET', '/threads')).body.threads;

test('a text becomes a message in the thread of its bot and sender, once, and its person is told once', async () => {
  const { engine, phone, web, team } = await start();
  expect(await bring({ engine, phone }, incoming(web, `touch ${engine.workspace}/ran; echo hello`))).toEqual({
    body: { status: 'delivered' },
  });
  expect(await bring({ engine, phone }, incoming(web, `touch ${engine.workspace}/ran; echo hello`))).toEqual({
    body: { status: 'duplicate' },
  });
  await bring({ engine, phone }, incoming(web, 'echo once more', 'text_in_2'));
  const [thread, ...others] = await threads(engine);
  expect(others).toEqual([]);
  expect(thread).toMatchObject({
    botId: web,
    channel: { provider: 'sms', numberId: 'num_1', peer: '+12025550123' },
  });
  const { messages } = (
    await engine.call<{ messages: { text: string; from: string }[] }>('GET', `/threads/${thread?.id}/messages`)
  ).body;
  expect(messages.map(({ text }) => text)).toEqual(['# echo once more', `# touch ${engine.workspace}/ran; echo hello`]);
  expect(messages[0]?.from).toBe('+12025550123 (sms, from outside)');
  await vi.waitFor(async () => {
    const screen = await engine.call<{ text: string }>('GET', `/agents/web@${team}/capture`);
    expect(screen.body.text).toContain(`gantry orchestration reply ${thread?.id}`);
  });
  // A stranger’s words are no commands, also for a bot that is a plain shell.
  expect(existsSync(join(engine.workspace, 'ran'))).toBe(false);
  await vi.waitFor(() =>
    expect(engine.told.filter(({ type }) => type === 'message.received')).toMatchObject([
      { id: 'text_in_1', data: { botId: web, threadId: thread?.id, from: '+12025550123', provider: 'sms' } },
      { id: 'text_in_2' },
    ]),
  );
});

test('what the bot answers in that thread leaves as a text, once, and says what became of it', async () => {
  const { engine, phone, cloud, web, team } = await start();
  await bring({ engine, phone }, incoming(web, 'echo hi'));
  const [thread] = await threads(engine);
  const token = await engine.botToken(`web@${team}`);
  const answered = await engine.call<Delivery>(
    'POST',
    '/send',
    { to: `channel:${thread?.id}`, text: 'We open at nine.' },
    { token },
  );
  expect(answered.body).toMatchObject({ via: 'channel', state: 'queued' });
  const delivery = async () =>
    (await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?thread=${thread?.id}`)).body.deliveries.find(
      ({ id }) => id === answered.body.id,
    );
  await vi.waitFor(async () =>
    expect(await delivery()).toMatchObject({ state: 'best_effort', detail: expect.stringContaining('text_1') }),
  );
  expect(cloud.sent).toEqual([
    {
      path: '/api/v1/channels/sms/send',
      body: { numberId: 'num_1', to: '+12025550123', text: 'We open at nine.' },
      idempotencyKey: answered.body.id,
    },
  ]);
});

/** A thread that somebody began, and what a bot says in it. */
async function inThread() {
  const { engine, phone, cloud, web } = await start();
  await bring({ engine, phone }, incoming(web, 'echo hi'));
  const [thread] = await threads(engine);
  const say = async (text: string) =>
    (await engine.call<Delivery>('POST', '/send', { to: `channel:${thread?.id}`, text })).body.id;
  const state = async (id: string) =>
    (await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?thread=${thread?.id}`)).body.deliveries.find(
      (one) => one.id === id,
    );
  return { cloud, say, state };
}

test('a refusal of the cloud is what the bot reads, and an outage is waited out', async () => {
  const { cloud, say, state } = await inThread();
  cloud.answer = { status: 403, body: { error: 'recipient_opted_out', message: '+12025550123 has said STOP.' } };
  const refused = await say('One');
  await vi.waitFor(async () =>
    expect(await state(refused)).toMatchObject({ state: 'failed', detail: '+12025550123 has said STOP.' }),
  );
  cloud.answer = { status: 503, body: null };
  const waits = await say('Two');
  await vi.waitFor(() => expect(cloud.sent.length).toBeGreaterThan(2));
  expect(await state(waits)).toMatchObject({ state: 'queued' });
  cloud.answer = { status: 200, body: { ok: true, messageId: 'text_2', parts: 1 } };
  await vi.waitFor(async () => expect(await state(waits)).toMatchObject({ state: 'best_effort' }));
});

test('what the cloud was cut off over is not sent again, and holds up nothing', async () => {
  const { cloud, say, state } = await inThread();
  cloud.answer = { status: 409, body: { error: 'idempotency_conflict', message: 'The first request was cut off.' } };
  const first = await say('One');
  await vi.waitFor(async () =>
    expect(await state(first)).toMatchObject({ state: 'best_effort', detail: expect.stringContaining('is unknown') }),
  );
  expect(cloud.sent).toHaveLength(1);
  cloud.answer = { status: 200, body: { ok: true, messageId: 'text_2', parts: 1 } };
  const second = await say('Two');
  await vi.waitFor(async () =>
    expect(await state(second)).toMatchObject({ detail: expect.stringContaining('text_2') }),
  );
});

test('what may mean STOP reaches the bot and its person with that said', async () => {
  const { engine, phone, web } = await start();
  await bring({ engine, phone }, { ...incoming(web, 'Stop it'), flag: 'may_mean_stop' });
  const [thread] = await threads(engine);
  const { messages } = (await engine.call<{ messages: { text: string }[] }>('GET', `/threads/${thread?.id}/messages`))
    .body;
  expect(messages[0]?.text).toMatch(/^# Stop it\n# \[.*may be a request to stop texting.*\]$/);
  await vi.waitFor(() =>
    expect(engine.told.find(({ type }) => type === 'message.received')?.data).toMatchObject({
      text: expect.stringContaining('opted out'),
    }),
  );
});

test('that a text came is known for as long as it may come again, and not for ever', async () => {
  const { engine, phone, web } = await start();
  await bring({ engine, phone }, incoming(web, 'echo one', 'text_old'));
  await engine.store.write((tx) => tx.run('UPDATE phone_text SET at = at - 8 * 24 * 3600000'));
  await bring({ engine, phone }, incoming(web, 'echo two', 'text_new'));
  const kept = await engine.store.read((tx) => tx.all<{ id: string }>('SELECT message_id AS id FROM phone_text'));
  expect(kept).toEqual([{ id: 'text_new' }]);
});

test('after its number went to another bot, a thread’s old bot can no longer text by it', async () => {
  const { engine, phone, cloud, web, team } = await start();
  await bring({ engine, phone }, incoming(web, 'echo hi'));
  const [thread] = await threads(engine);
  const { id: api } = await engine.agent(`api@${team}`);
  cloud.numbers = [number('num_1', api)];
  const resync = phone
    .routes(engine.factory.channels)
    .find(({ route: { op } }) => op === 'resyncRuntime') as BoundRoute;
  await resync.handler({ body: { scope: 'phone' } } as never);
  const { body } = await engine.call<Delivery>('POST', '/send', { to: `channel:${thread?.id}`, text: 'Still me' });
  await vi.waitFor(async () => {
    const list = await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?thread=${thread?.id}`);
    expect(list.body.deliveries.find(({ id }) => id === body.id)).toMatchObject({
      state: 'failed',
      detail: 'the number no longer belongs to this bot',
    });
  });
  expect(cloud.sent).toEqual([]);
  await bring({ engine, phone }, incoming(api, 'echo new bot', 'text_in_3'));
  expect((await threads(engine)).map(({ botId }) => botId).sort()).toEqual([api, web].sort());
});

test('a text for a bot that is gone is given back, for good', async () => {
  const { engine, phone } = await start();
  await expect(bring({ engine, phone }, incoming('agent_gone', 'hello'))).rejects.toMatchObject({
    options: { status: 410, wireCode: 'bot_gone' },
  });
});
