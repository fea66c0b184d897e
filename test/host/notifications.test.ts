/** From what happens on a computer to a push on a device and back: real HTTP, signatures, stores and encryption. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Approval } from '../../src/contracts/approvals/approval.ts';
import { notifiableEventNames } from '../../src/contracts/events/registry.ts';
import type { Preferences } from '../../src/contracts/notifications/preferences.ts';
import type { PushPayload } from '../../src/contracts/notifications/push.ts';
import type { Notification } from '../../src/contracts/notifications/routes.ts';
import { actionHash } from '../../src/kit/signing/action-hash.ts';
import { signedHeaders } from '../../src/kit/signing/signature.ts';
import type { ApprovalAsk } from '../../src/runtime-server/approvals/index.ts';
import { keepUntilEnd, type Reply } from '../kit/http/support.ts';
import { type PushService, startPushService } from '../support/push-service.ts';
import { startPair } from './support.ts';

let pair: Awaited<ReturnType<typeof startPair>>;
let service: PushService;
const stop = keepUntilEnd();
beforeAll(async () => {
  service = await startPushService();
  const push = { vapid: null, subject: null, allow: [`127.0.0.1:${service.port}`] };
  pair = await startPair({ cloud: { push } });
});
afterAll(async () => {
  await stop();
  await service.close();
});

const ask = (title: string): ApprovalAsk => ({
  source: 'gate',
  kind: 'tool_call',
  title,
  summary: 'git push origin main',
  risk: 'high',
  agentId: 'agent_1',
  actionHash: actionHash({ title }),
  expiresInMs: 60_000,
});
const answer = <T>(reply: Reply): T => reply.json as unknown as T;

async function subscribe() {
  const device = service.device();
  const body = { ...device.subscription, expirationTime: null, name: 'Phone' };
  const reply = await pair.callWeb('POST', '/api/v1/push/subscriptions', { body });
  expect(reply.status).toBe(201);
  return { ...device, id: answer<{ id: string }>(reply).id };
}

type Received = { readonly received: readonly string[] };
async function pushed(device: Received, count = 1): Promise<PushPayload[]> {
  await expect.poll(() => device.received.length).toBeGreaterThanOrEqual(count);
  return device.received.map((text) => JSON.parse(text) as PushPayload);
}

const feed = async (query = '') =>
  answer<{ notifications: Notification[]; unread: number; nextCursor: string | null }>(
    await pair.callWeb('GET', `/api/v1/notifications${query}`),
  );

/** As the computer of the pair, signed. */
async function asComputer(method: string, path: string, body: unknown): Promise<Reply> {
  const raw = JSON.stringify(body);
  const { runtimeId, key } = pair.device;
  const headers = signedHeaders({ runtimeId, key, now: Date.now }, { method, path, body: raw });
  return pair.callWeb(method, path, { raw, headers: { ...headers }, token: null });
}

test('an approval asked on a computer is pushed, and answered once by the button of its notification', async () => {
  const device = await subscribe();
  const asked = await pair.approvals.ask(ask('Push to the remote'));
  const [push] = await pushed(device);
  expect(push).toEqual({
    type: 'event',
    title: 'Your bot asks for approval',
    body: 'Push to the remote\ngit push origin main',
    url: '/',
    tag: `approval-${asked.id}`,
    data: {
      event: 'approval.requested',
      botId: 'agent_1',
      threadId: null,
      approvalId: asked.id,
      approve: expect.any(String),
    },
  });
  const sent = service.pushes.find(({ endpoint }) => endpoint === device.subscription.endpoint)!;
  expect(sent.headers).toMatchObject({ urgency: 'high', topic: expect.stringMatching(/^[\w-]{32}$/) });
  expect(Number(sent.headers.ttl)).toBeGreaterThan(50);
  expect(Number(sent.headers.ttl)).toBeLessThanOrEqual(60);

  const action = `/api/v1/push/actions/${push!.data.approve}`;
  const nonsense = await pair.callWeb('POST', action, { token: null, body: { decision: 'maybe' } });
  expect(nonsense.status).toBe(400);
  const reply = await pair.callWeb('POST', action, { token: null, body: { decision: 'approve' } });
  expect(reply.json).toEqual({ approvalId: asked.id, title: 'Push to the remote', decision: 'approve' });
  expect(await asked.answer).toMatchObject({ kind: 'approve', by: { user: 'user_local', surface: 'push' } });

  const again = await pair.callWeb('POST', action, { token: null, body: { decision: 'reject' } });
  expect(again.status).toBe(409);
  expect(again.json).toEqual({ error: 'already_resolved', message: expect.stringContaining('user_local via push') });
  // Random bytes begin with anything.
  for (const first of ['a', '-', '_']) {
    const made = await pair.callWeb('POST', `/api/v1/push/actions/${first}${'a'.repeat(42)}`, {
      token: null,
      body: { decision: 'approve' },
    });
    expect(made.json).toMatchObject({ error: 'action_not_found' });
  }
  await expect
    .poll(async () => (await feed()).notifications.map(({ event, outcome }) => `${event} ${outcome}`), {
      timeout: 10_000,
    })
    .toEqual(['approval.resolved off', 'approval.requested sent']);
  // What is answered has been read, and what a person does not want to be told of does not wait for them.
  expect((await feed()).unread).toBe(0);
});

test('a device that an API key registered is told, and gets no buttons: a key answers no approval', async () => {
  const made = await pair.callWeb('POST', '/api/v1/keys', { body: { name: 'sender', scopes: ['compute'] } });
  const { secret } = answer<{ secret: string }>(made);
  const [device, own] = [service.device(), await subscribe()];
  const register = (token?: string) =>
    pair.callWeb('POST', '/api/v1/push/subscriptions', { body: device.subscription, ...(token ? { token } : {}) });
  expect((await register(secret)).status).toBe(201);
  await pair.approvals.ask(ask('Merge it'));
  const [[seen], [whole]] = [await pushed(device), await pushed(own)];
  expect([seen?.title, seen?.data.approve]).toEqual(['Your bot asks for approval', undefined]);
  expect(whole?.data.approve).toEqual(expect.any(String));
  // The same browser, by its person.
  expect((await register()).status).toBe(201);
  await pair.approvals.ask(ask('Merge it again'));
  expect((await pushed(device, 2))[1]?.data.approve).toEqual(expect.any(String));
});

test('the buttons that a device has are good for nothing once its person removed it', async () => {
  const device = await subscribe();
  const asked = await pair.approvals.ask(ask('Release it'));
  const [push] = await pushed(device);
  await pair.callWeb('DELETE', `/api/v1/push/subscriptions/${device.id}`);
  const action = `/api/v1/push/actions/${push!.data.approve}`;
  const reply = await pair.callWeb('POST', action, { token: null, body: { decision: 'approve' } });
  expect([reply.status, reply.json.error]).toEqual([404, 'action_not_found']);
  const open = await pair.callWeb('GET', '/api/factory/approvals?state=pending');
  expect(answer<{ approvals: Approval[] }>(open).approvals.map(({ id }) => id)).toContain(asked.id);
});

test('a button says who answered when somebody was faster elsewhere', async () => {
  const device = await subscribe();
  const asked = await pair.approvals.ask(ask('Delete the branch'));
  const [push] = await pushed(device);
  const path = `/api/factory/approvals/${asked.id}/resolve`;
  const answered = await pair.callWeb('POST', path, { body: { decision: 'reject' } });
  expect(answer<Approval>(answered).resolvedBy?.surface).toBe('cli');
  const late = await pair.callWeb('POST', `/api/v1/push/actions/${push!.data.approve}`, {
    token: null,
    body: { decision: 'approve' },
  });
  expect([late.status, late.text]).toEqual([409, expect.stringContaining('rejected by user_local via cli')]);
});

test('a computer forwards what happened there once, and what is no event is refused alone', async () => {
  const device = await subscribe();
  const at = new Date().toISOString();
  const event = (id: string, type: string, data: object) => ({ id, type, at, data });
  const needs = { reason: 'It asks which file.', botId: 'agent_2', botName: 'coder', threadId: 'thread 1' };
  const approval = { approvalId: 'approval_1', kind: 'tool_call', title: 'Pay', risk: 'high', source: 'gate' };
  const events = [
    event('n1', 'thread.needs_user', needs),
    event('s1', 'message.status', { messageId: 'm1', status: 'delivered' }),
    event('x1', 'no.such.type', {}),
    event('b1', 'inbox.item.created', { itemId: 'i1' }),
    event('b2', 'inbox.item.created', { itemId: 'i1', title: 'Hello', more: 1 }),
    'nothing',
    { id: 'b3', type: 'call.ended', at: 'yesterday', data: {} },
    event('i1', 'inbox.item.created', { itemId: 'i1', title: 'Hello' }),
    // What the cloud alone can know: a computer would put words into its mouth, or be there before it.
    event('2026-01', 'usage.threshold', { month: '2026-01', level: 80, percent: 80, spentCents: 8, budgetCents: 10 }),
    event('approval_1', 'approval.requested', approval),
    event('approval_1', 'approval.resolved', approval),
  ];
  const path = '/api/v1/runtime/events';
  const reply = await asComputer('POST', path, { events });
  expect(reply.status).toBe(200);
  expect(reply.json).toMatchObject({
    accepted: 2,
    refused: [
      { index: 1, id: 's1', error: 'unknown_event' },
      { index: 2, id: 'x1', error: 'unknown_event' },
      { index: 3, id: 'b1', error: 'bad_payload' },
      { index: 4, id: 'b2', error: 'bad_payload' },
      { index: 5, id: null, error: 'bad_event' },
      { index: 6, id: 'b3', error: 'bad_event' },
      { index: 8, id: '2026-01', error: 'unknown_event' },
      { index: 9, id: 'approval_1', error: 'unknown_event' },
      { index: 10, id: 'approval_1', error: 'unknown_event' },
    ],
  });
  const repeated = await asComputer('POST', path, { events: events.slice(0, 1) });
  expect(repeated.json).toEqual({ accepted: 0, refused: [] });
  const [push] = await pushed(device);
  expect(push).toMatchObject({
    title: 'coder needs you',
    body: 'It asks which file.',
    url: '/?allternit_thread=thread%201&bot=agent_2',
    tag: 'needs-thread 1',
  });
  expect((await feed('?limit=1')).notifications[0]).toMatchObject({ event: 'inbox.item.created', outcome: 'off' });
  expect(device.received).toHaveLength(1);
  expect((await pair.callWeb('POST', path, { body: { events } })).status).toBe(403);
});

test('preferences list every type in the order of the registry, and change all or nothing', async () => {
  const path = '/api/v1/notifications/preferences';
  const read = async () => answer<Preferences>(await pair.callWeb('GET', path));
  const before = await read();
  expect(before.pushConfigured).toBe(true);
  expect(before.preferences.map(({ event }) => event)).toEqual(notifiableEventNames);
  expect(before.preferences.every((one) => one.enabled === one.default && one.title !== '')).toBe(true);
  const refused: [unknown, string][] = [
    [{}, 'bad_value'],
    [{ preferences: {} }, 'bad_value'],
    [[], 'bad_value'],
    [{ 'call.ended': 'no' }, 'bad_value'],
    [{ 'call.ended': false, 'message.status': true }, 'unknown_event'],
    [{ 'call.ended': false, 'no.such': true }, 'unknown_event'],
    [{ 'call.ended': false, 'message.received': 0 }, 'bad_value'],
    [{ preferences: { 'call.ended': false }, 'call.ended': true }, 'unknown_event'],
  ];
  for (const [body, error] of refused) {
    const reply = await pair.callWeb('PUT', path, { body });
    expect([body, reply.status, reply.json.error]).toEqual([body, 400, error]);
  }
  expect(await read()).toEqual(before);
  const change = { 'call.ended': false, 'inbox.item.created': true, 'message.received': true };
  const changed = answer<Preferences>(await pair.callWeb('PUT', path, { body: change }));
  const enabled = (all: Preferences) => all.preferences.filter((one) => one.enabled !== one.default);
  expect(enabled(changed).map(({ event }) => event)).toEqual(['call.ended', 'inbox.item.created']);
  expect(await read()).toEqual(changed);
  const back = { preferences: { 'call.ended': null, 'inbox.item.created': null } };
  expect(answer<Preferences>(await pair.callWeb('PUT', path, { body: back }))).toEqual(before);
});

test('a device is registered once, tried, and removed by its person or by its push service', async () => {
  const base = '/api/v1/push/subscriptions';
  const list = async () => answer<{ devices: { id: string }[] }>(await pair.callWeb('GET', base)).devices;
  for (const { id } of await list()) expect((await pair.callWeb('DELETE', `${base}/${id}`)).status).toBe(204);
  const key = answer<{ publicKey: string }>(await pair.callWeb('GET', '/api/v1/push/key')).publicKey;
  expect(Buffer.from(key, 'base64url')).toHaveLength(65);

  const device = await subscribe();
  const again = await pair.callWeb('POST', base, { body: { ...device.subscription, name: 'Laptop' } });
  expect(again.json).toMatchObject({ id: device.id, name: 'Laptop', lastOutcome: null });
  const test = async (deviceId: string) => pair.callWeb('POST', '/api/v1/push/test', { body: { deviceId } });
  expect((await test(device.id)).json).toEqual({ outcome: 'sent', detail: null });
  expect((await pushed(device))[0]).toMatchObject({ type: 'test', data: { event: 'test' } });
  expect(await list()).toMatchObject([{ id: device.id, lastOutcome: 'sent', lastSentAt: expect.any(String) }]);
  service.answerNext({ status: 403 });
  expect((await test(device.id)).json).toMatchObject({ outcome: 'refused' });
  expect(answer(await pair.callWeb('GET', '/api/v1/notifications/reach'))).toMatchObject({
    pushConfigured: true,
    working: true,
    devices: 1,
    reachable: 0,
    away: [],
  });
  device.expire();
  expect((await test(device.id)).json).toMatchObject({ outcome: 'gone' });
  expect(await list()).toEqual([]);
  expect((await test(device.id)).status).toBe(404);

  const { keys } = service.device().subscription;
  const endpoints = [
    'https://10.0.0.1/x',
    'https://[::1]/x',
    'https://[::ffff:127.0.0.1]/x',
    'https://2130706433/x',
    'http://push.example.com/x',
    'https://me:secret@push.example.com/x',
    `http://127.0.0.1:${service.port + 1}/x`,
    'ftp://push.example.com/x',
  ];
  for (const endpoint of endpoints) {
    const reply = await pair.callWeb('POST', base, { body: { endpoint, keys } });
    expect([endpoint, reply.status, reply.json.error]).toEqual([endpoint, 400, 'bad_request']);
  }
  const endpoint = 'https://push.example.com/x';
  const bad = [{ ...keys, auth: 'AAAA' }, { ...keys, p256dh: 'A'.repeat(88) }, { auth: keys.auth }];
  for (const wrong of bad) {
    expect((await pair.callWeb('POST', base, { body: { endpoint, keys: wrong } })).status).toBe(400);
  }
  expect(await list()).toEqual([]);
});

test('notifications are listed by pages, newest first, and marked read one by one or all', async () => {
  const at = new Date().toISOString();
  const events = [1, 2, 3].map((n) => ({
    id: `page${n}`,
    type: 'thread.needs_user',
    at,
    data: { reason: `Question ${n}`, botId: `agent_${n}` },
  }));
  await asComputer('POST', '/api/v1/runtime/events', { events });
  await expect.poll(async () => (await feed()).notifications[0]?.body).toBe('Question 3');
  const all = () => pair.callWeb('POST', '/api/v1/notifications/read', { body: { all: true } });
  const { at: marked } = (await all()).json as unknown as { at: string };
  expect((await feed('?unread=1')).notifications).toEqual([]);
  // What was marked by mistake is unread again, and nothing else.
  const undone = await pair.callWeb('POST', '/api/v1/notifications/read', { body: { undo: marked } });
  expect((undone.json as unknown as { unread: number }).unread).toBeGreaterThanOrEqual(3);
  expect((await feed('?unread=1')).notifications[0]?.body).toBe('Question 3');
  await all();
  const more = [4, 5, 6].map((n) => ({ ...events[0]!, id: `page${n}`, data: { reason: `Question ${n}` } }));
  await asComputer('POST', '/api/v1/runtime/events', { events: more });
  await expect.poll(async () => (await feed('?unread=true')).unread).toBe(3);
  const first = await feed('?unread=true&limit=2');
  expect(first.notifications.map(({ body }) => body)).toEqual(['Question 6', 'Question 5']);
  const second = await feed(`?unread=true&limit=2&cursor=${first.nextCursor}`);
  expect(second.notifications.map(({ body }) => body)).toEqual(['Question 4']);
  expect(second.nextCursor).toBeNull();
  const ids = [first.notifications[0]!.id, 'event_of_nobody'];
  const read = await pair.callWeb('POST', '/api/v1/notifications/read', { body: { ids } });
  expect(read.json).toMatchObject({ read: 1, unread: 2 });
  expect((await feed('?limit=1')).notifications[0]?.readAt).not.toBeNull();
  expect((await pair.callWeb('GET', '/api/v1/notifications?cursor=nonsense')).json.error).toBe('bad_request');
});

test('spending is counted once a line, and the budget tells when it is crossed, once each', async () => {
  const month = new Date().toISOString().slice(0, 7);
  const at = new Date().toISOString();
  const line = (id: string, cents: number) => ({ id, at, cents, botId: 'agent_1', runId: null, model: 'm-1' });
  const report = (...lines: object[]) => asComputer('POST', '/api/v1/runtime/usage', { lines });
  const told = async () =>
    (await feed()).notifications.filter(({ event }) => event === 'usage.threshold').map(({ title }) => title);

  expect((await report(line('u1', 40.25), line('u2', 0.0001))).json).toEqual({ accepted: 2 });
  expect((await report(line('u1', 99))).json).toEqual({ accepted: 0 });
  expect((await pair.callWeb('GET', '/api/v1/usage')).json).toEqual({
    month,
    spentCents: 40.2501,
    lines: [
      {
        kind: 'model',
        name: 'm-1',
        botId: 'agent_1',
        computerId: pair.computer.id,
        cents: 40.2501,
        count: 2,
        quantity: 2,
      },
    ],
  });
  expect((await pair.callWeb('GET', '/api/v1/usage?month=2020-01')).json).toMatchObject({ spentCents: 0, lines: [] });
  const budget = '/api/v1/usage/budget';
  expect((await pair.callWeb('GET', budget)).json).toEqual({ budgetCents: null, alertPercent: 80 });
  expect((await pair.callWeb('PUT', budget, { body: { budgetCents: 0 } })).status).toBe(400);
  const set = await pair.callWeb('PUT', budget, { body: { budgetCents: 100 } });
  expect(set.json).toEqual({ budgetCents: 100, alertPercent: 80 });
  await report(line('u3', 38));
  expect(await told()).toEqual([]);
  await report(line('u4', 5), line('u5', 1));
  await expect.poll(told).toEqual(['84% of your budget is spent']);
  await report(line('u6', 20));
  await expect.poll(told).toHaveLength(2);
  await report(line('u7', 20));
  // Another budget is another crossing: both of its levels are behind already.
  await pair.callWeb('PUT', budget, { body: { budgetCents: 50 } });
  await expect
    .poll(told)
    .toEqual([
      '248% of your budget is spent',
      '248% of your budget is spent',
      '104% of your budget is spent',
      '84% of your budget is spent',
    ]);
});
