/** One push and what a push service answers, the keys behind it, and the devices it goes to. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, test } from 'vitest';
import webpush from 'web-push';
import type { PushDevice, PushPayload } from '../../../src/contracts/notifications/push.ts';
import { answered as answeredWith } from '../../../src/kit/store/answered.ts';
import { onEnd } from '../../kit/http/support.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { openWorld, person, type World } from './support.ts';

const needs = { reason: 'It asks.' };
const outcome = (world: World, wanted: string) =>
  world.settled(async () => (await world.outcomes())[0] === `thread.needs_user ${wanted}`);
const devices = async (world: World) =>
  ((await world.call('GET', '/api/v1/push/subscriptions')).json as unknown as { devices: PushDevice[] }).devices;

test('a device that its push service no longer knows is removed, by 404 as by 410', async () => {
  const world = await openWorld();
  for (const status of [404, 410]) {
    await world.device();
    world.service.answerNext({ status });
    await world.emit('thread.needs_user', `n${status}`, needs);
    await outcome(world, 'unreachable');
    await world.settled(async () => (await devices(world)).length === 0);
  }
});

test('a push that is too large for a service is sent once more, shorter, and then given up', async () => {
  const world = await openWorld();
  const device = await world.device();
  const text = 'ü'.repeat(10_000);
  const message = { messageId: 'm1', from: 'Ada', text, threadId: 'thread_1' };
  world.service.answerNext({ status: 413 });
  await world.emit('message.received', 'm1', message);
  await world.settled(() => device.pushes().length === 1);
  const sizes = world.service.pushes.map(({ body }) => body.length);
  expect(sizes[0]).toBeLessThanOrEqual(4096);
  expect(sizes[1]).toBeLessThan(2100);
  expect(device.pushes()[0]).toMatchObject({ tag: 'msg-thread_1', body: expect.stringMatching(/^ü+…$/) });
  world.service.answerNext({ status: 413 }, { status: 413 });
  await world.emit('thread.needs_user', 'n1', needs);
  await outcome(world, 'unreachable');
  expect(await devices(world)).toMatchObject([{ lastOutcome: 'too_large' }]);
  expect(world.service.pushes).toHaveLength(4);
});

test('a service that is busy is asked again when it says, and the outcome follows', async () => {
  const world = await openWorld();
  const device = await world.device();
  world.service.answerNext({ status: 429, headers: { 'retry-after': '120' } }, { status: 503 });
  await world.emit('thread.needs_user', 'n1', needs);
  await outcome(world, 'unreachable');
  await world.clock.advance(119_000);
  expect(world.service.pushes).toHaveLength(1);
  await world.clock.advance(1000);
  await world.settled(() => world.service.pushes.length === 2);
  expect(await devices(world)).toMatchObject([{ lastOutcome: 'unreachable' }]);
  await world.settled(async () => {
    await world.clock.advance(1000);
    return device.pushes().length === 1;
  });
  await outcome(world, 'sent');
  expect(await devices(world)).toMatchObject([{ lastOutcome: 'sent' }]);
});

test('what nobody takes is not tried longer than twelve hours after it happened', async () => {
  const world = await openWorld();
  const device = await world.device();
  world.service.answerNext({ status: 500 });
  await world.emit('thread.needs_user', 'n1', needs);
  await outcome(world, 'unreachable');
  world.clock.jump(12 * 60 * 60_000);
  await world.clock.advance(30_000);
  expect(world.service.pushes).toHaveLength(1);
  await world.emit('thread.needs_user', 'n2', needs);
  await world.settled(() => device.pushes().length === 1);
});

test('a service that does not take the keys marks the device, and the operator is told once', async () => {
  const world = await openWorld();
  await world.device();
  for (const [id, status] of [
    ['n1', 401],
    ['n2', 403],
  ] as const) {
    world.service.answerNext({ status });
    await world.emit('thread.needs_user', id, needs);
    await outcome(world, 'unreachable');
    expect(await devices(world)).toMatchObject([{ lastOutcome: 'refused' }]);
  }
  expect(world.errors.filter((line) => line.includes('does not take the push keys'))).toHaveLength(1);
});

test('one device that cannot be reached keeps nothing from the others', async () => {
  const world = await openWorld();
  const dead = await world.device();
  const device = await world.device();
  dead.expire();
  await world.emit('thread.needs_user', 'n1', needs);
  await outcome(world, 'sent');
  expect(device.pushes()).toHaveLength(1);
  expect(await devices(world)).toMatchObject([{ id: device.id }]);
});

test('what may have been sent when the program ended is not sent again, and what waited behind it is', async () => {
  let asked = 0;
  // Leaves the first push without an answer for ever.
  const service = createServer((request, response) => {
    asked += 1;
    request.resume();
    if (asked > 1) response.writeHead(201).end();
  }).listen(0, '127.0.0.1');
  await new Promise((resolve) => service.once('listening', resolve));
  const host = `127.0.0.1:${(service.address() as AddressInfo).port}`;
  onEnd(async () => {
    service.closeAllConnections();
    service.close();
  });
  const world = await openWorld({ allow: [host] });
  const { keys } = world.service.device().subscription;
  await world.call('POST', '/api/v1/push/subscriptions', { body: { endpoint: `http://${host}/device`, keys } });
  await world.emit('thread.needs_user', 'n1', needs);
  await world.emit('thread.needs_user', 'n2', needs);
  await world.settled(() => asked === 1);

  // As the disk is after kill -9.
  const folder = scratchFolder();
  const database = new Database(join(world.folder, 'cloud.db'));
  database.exec(`VACUUM INTO '${join(folder, 'cloud.db')}'`);
  database.close();
  const after = await openWorld({ folder, clock: world.clock, service: world.service, allow: [host] });
  await after.settled(async () => (await after.outcomes())[0] === 'thread.needs_user sent');
  expect(await after.outcomes()).toEqual(['thread.needs_user sent', 'thread.needs_user claimed']);
  await after.clock.advance(60_000);
  expect(asked).toBe(2);

  // The same where the program is ended in order: the one under way is cut off, the one behind it waits for the next start.
  const closing = world.close();
  await world.clock.advance(1_000);
  await closing;
  const again = await openWorld({ folder: world.folder, clock: world.clock, service: world.service, allow: [host] });
  await again.settled(async () => (await again.outcomes())[0] === 'thread.needs_user sent');
  expect(await again.outcomes()).toEqual(['thread.needs_user sent', 'thread.needs_user claimed']);
  expect(asked).toBe(3);
});

test('an approval that was answered meanwhile is not pushed late, and its token is never in the database', async () => {
  const until = createTestClock().now() + 3_600_000;
  let open: { until: number; summary: string; details: []; reason: string | null } | 'closed' = {
    until,
    summary: 'rm -r out',
    details: [],
    reason: null,
  };
  const world = await openWorld({
    approvals: {
      open: (_tx, id) => answeredWith(id === 'apr_unknown' ? 'unknown' : open),
      resolve: async (id) => ({ id, title: 'Run it' }),
    },
  });
  const device = await world.device();
  const ask = (approvalId: string, title = 'Run it') =>
    world.emit('approval.requested', approvalId, {
      approvalId,
      kind: 'tool_call',
      title,
      risk: 'low',
      source: 'gate',
    });
  await ask('apr_1');
  await world.settled(() => device.pushes().length === 1);
  const token = device.pushes()[0]?.data.approve ?? '';
  expect(token).toHaveLength(43);
  expect(device.pushes()[0]?.body).toBe('Run it\nrm -r out');
  expect(Number(world.service.pushes[0]?.headers.ttl)).toBe(3600);
  await ask('apr_unknown');
  await world.settled(() => device.pushes().length === 2);
  expect(device.pushes()[1]?.data).toMatchObject({ approvalId: 'apr_unknown' });
  expect(device.pushes()[1]?.data.approve).toBeUndefined();
  await ask('apr_said', 'dev@app asks to run: rm -r out');
  await world.settled(() => device.pushes().length === 3);
  expect(device.pushes()[2]?.body).toBe('dev@app asks to run: rm -r out');

  world.service.answerNext({ status: 503 });
  await ask('apr_2');
  const waiting = () =>
    world.store.read((tx) => tx.all<{ until: number }>('SELECT not_before AS until FROM lane_item'));
  await world.settled(async () => (await waiting()).some(({ until: at }) => at > 0));
  open = 'closed';
  await world.clock.advance(10_000);
  await world.settled(async () => (await waiting()).length === 0);
  expect(device.pushes()).toHaveLength(3);
  await ask('apr_3');
  await world.settled(async () => (await world.outcomes())[0] === 'approval.requested skipped');
  const files = ['cloud.db', 'cloud.db-wal'].map((name) => readFileSync(join(world.folder, name)).toString('latin1'));
  expect(files.join('')).toContain('apr_1');
  expect(files.join('')).not.toContain(token);
  const reply = await world.call('POST', `/api/v1/push/actions/${token}`, {
    token: null,
    body: { decision: 'reject' },
  });
  expect(reply.json).toEqual({ approvalId: 'apr_1', title: 'Run it', decision: 'reject' });
});

test('a push has the command, what goes with it and the reason on lines of their own, which no command can forge', async () => {
  const forging = 'date\nFolder: safe\nIts reason: only prints the date';
  const asked = {
    apr_1: { summary: forging, details: [], reason: null },
    apr_2: {
      summary: 'date',
      details: [{ name: 'Folder', text: 'site\nVariables: none' }],
      reason: 'to know\nthe day',
    },
  };
  const world = await openWorld({
    approvals: {
      open: (_tx, id) =>
        answeredWith({ until: createTestClock().now() + 3_600_000, ...asked[id as keyof typeof asked] }),
      resolve: async (id) => ({ id, title: 'Run it' }),
    },
  });
  const device = await world.device();
  for (const approvalId of Object.keys(asked)) {
    await world.emit('approval.requested', approvalId, {
      approvalId,
      kind: 'tool_call',
      title: 'Run it',
      risk: 'low',
      source: 'gate',
    });
  }
  await world.settled(() => device.pushes().length === 2);
  const lines = device.pushes().map(({ body }) => body.split('\n').slice(1));
  expect(lines).toEqual([
    ['date\\nFolder: safe\\nIts reason: only prints the date'],
    ['date', 'Folder: site\\nVariables: none', 'Its reason: to know\\nthe day'],
  ]);
});

test('a person who is shut out is told nothing, and the buttons that they have answer nothing', async () => {
  let shut = false;
  const answered: string[] = [];
  const world = await openWorld({
    admits: () => !shut,
    approvals: {
      open: () =>
        answeredWith({ until: createTestClock().now() + 3_600_000, summary: 'rm -r out', details: [], reason: null }),
      async resolve(id) {
        answered.push(id);
        return { id, title: 'Run it' };
      },
    },
  });
  const device = await world.device();
  const ask = (approvalId: string) =>
    world.emit('approval.requested', approvalId, {
      approvalId,
      kind: 'tool_call',
      title: 'Run it',
      risk: 'low',
      source: 'gate',
    });
  await ask('apr_1');
  await world.settled(() => device.pushes().length === 1);
  shut = true;
  await ask('apr_2');
  await world.settled(async () => (await world.outcomes())[0] === 'approval.requested skipped');
  expect(device.pushes()).toHaveLength(1);
  const press = () =>
    world.call('POST', `/api/v1/push/actions/${device.pushes()[0]?.data.approve}`, {
      token: null,
      body: { decision: 'approve' },
    });
  const reply = await press();
  expect([reply.status, reply.json.error]).toEqual([403, 'account_disabled']);
  expect(answered).toEqual([]);
  shut = false;
  expect((await press()).status).toBe(200);
  expect(answered).toEqual(['apr_1']);
});

test('keys are made once, sealed, and kept; without them nothing is sent and everybody is told', async () => {
  const folder = scratchFolder();
  const key = async (world: World) => (await world.call('GET', '/api/v1/push/key')).json;
  const first = await openWorld({ folder });
  const made = await key(first);
  const device = await first.device();
  await first.close();
  const second = await openWorld({ folder, service: first.service });
  expect(await key(second)).toEqual(made);
  await second.close();

  const changed = await openWorld({ folder, service: first.service, masterKey: 'another-master-key-0123456789abcdef' });
  expect(await key(changed)).toMatchObject({ error: 'push_not_configured' });
  expect((await changed.call('GET', '/api/v1/push/key')).status).toBe(503);
  const tried = await changed.call('POST', '/api/v1/push/test', { body: { deviceId: device.id } });
  expect(tried.status).toBe(503);
  for (const path of ['notifications/preferences', 'notifications/reach']) {
    expect((await changed.call('GET', `/api/v1/${path}`)).json).toMatchObject({ pushConfigured: false });
  }
  await changed.emit('thread.needs_user', 'n1', needs);
  await outcome(changed, 'unreachable');
  await changed.close();

  const given = webpush.generateVAPIDKeys();
  const operated = await openWorld({ folder, service: first.service, vapid: given });
  expect(await key(operated)).toEqual({ publicKey: given.publicKey });
});

test('one signature serves all pushes to a service until it is about to end', async () => {
  const world = await openWorld();
  const device = await world.device();
  const send = async (id: string, count: number) => {
    await world.emit('thread.needs_user', id, needs);
    await world.settled(() => device.pushes().length === count);
  };
  await send('n1', 1);
  await send('n2', 2);
  await world.clock.advance(11 * 60 * 60_000);
  await send('n3', 3);
  const [one, two, three] = world.service.pushes.map(({ headers }) => headers.authorization);
  expect(one).toBe(two);
  expect(three).not.toBe(one);
});

test('an independent push service takes our signature and reads what we sent', async () => {
  const probe = createServer().listen(0, '127.0.0.1');
  await new Promise((resolve) => probe.once('listening', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  // Prints to its console and keeps its state in its module: a process of its own.
  const code = `new (require('web-push-testing/src/server.js'))(new (require('web-push-testing/src/PushApiModel.js').PushApiModel)(), ${port}).startServer()`;
  const server = spawn(process.execPath, ['-e', code], { stdio: 'ignore', cwd: process.cwd() });
  onEnd(async () => void server.kill());
  const base = `http://localhost:${port}`;
  const ask = async <T>(path: string, body: object): Promise<T> => {
    const headers = { 'content-type': 'application/json' };
    const reply = await fetch(`${base}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    return ((await reply.json()) as { data: T }).data;
  };
  await expect
    .poll(() =>
      fetch(`${base}/status`, { method: 'POST' }).then(
        (r) => r.ok,
        () => false,
      ),
    )
    .toBe(true);

  const world = await openWorld({ clock: createTestClock(Date.now()), allow: [`localhost:${port}`] });
  const { publicKey } = (await world.call('GET', '/api/v1/push/key')).json as unknown as { publicKey: string };
  type Subscribed = { endpoint: string; keys: { p256dh: string; auth: string }; clientHash: string };
  const { endpoint, keys, clientHash } = await ask<Subscribed>('/subscribe', {
    userVisibleOnly: 'true',
    applicationServerKey: publicKey,
  });
  const base64url = (text: string) => Buffer.from(text, 'base64').toString('base64url');
  const body = { endpoint, keys: { p256dh: base64url(keys.p256dh), auth: base64url(keys.auth) } };
  expect((await world.call('POST', '/api/v1/push/subscriptions', { body })).status).toBe(201);
  await world.emit('thread.needs_user', 'n1', { reason: 'It asks für Elise.', botName: 'coder' });
  await outcome(world, 'sent');
  const { messages } = await ask<{ messages: string[] }>('/get-notifications', { clientHash });
  expect(messages.map((text) => JSON.parse(text) as PushPayload)).toMatchObject([
    { title: 'coder needs you', body: 'It asks für Elise.' },
  ]);
});

test('a page of the list says how many there are in all, and only what is named is marked read', async () => {
  const world = await openWorld();
  for (let n = 1; n <= 6; n += 1) await world.emit('thread.needs_user', `n${n}`, needs);
  const question = { approvalId: 'apr_1', kind: 'tool_call', title: 'Run it', risk: 'low', source: 'gate' } as const;
  await world.emit('approval.requested', 'apr_1', question);
  await world.emit('thread.needs_user', 'other', needs, { userId: 'user_2' });
  const page = async (query: string) =>
    (await world.call('GET', `/api/v1/notifications?${query}`)).json as never as {
      notifications: { id: string }[];
      nextCursor: string;
    };
  await world.settled(async () => (await world.feed()).length === 7);
  const first = await page('limit=4');
  expect(first).toMatchObject({ total: 7, unread: 7, questions: { total: 1, unread: 1 } });
  expect(await page(`limit=4&cursor=${first.nextCursor}`)).toMatchObject({ total: 7, nextCursor: null });
  const ids = first.notifications.map(({ id }) => id);
  await world.call('POST', '/api/v1/notifications/read', { body: { ids } });
  const later = await page('limit=1&unread=true');
  expect(later).toMatchObject({ total: 7, unread: 3, questions: { total: 1, unread: 0 } });
});

test('a device belongs to one person: others neither see nor try nor remove it', async () => {
  const world = await openWorld();
  const mine = await world.device();
  const stranger = world.as('user_2');
  expect((await stranger('GET', '/api/v1/push/subscriptions')).json).toEqual({ devices: [] });
  const path = `/api/v1/push/subscriptions/${mine.id}`;
  expect((await stranger('DELETE', path)).json).toMatchObject({ error: 'device_not_found' });
  const tried = await stranger('POST', '/api/v1/push/test', { body: { deviceId: mine.id } });
  expect([tried.status, tried.json]).toMatchObject([404, { error: 'device_not_found' }]);
  expect(await devices(world)).toHaveLength(1);
  // Nor does what they want to be told of count for anybody else.
  await stranger('PUT', '/api/v1/notifications/preferences', { body: { 'thread.needs_user': false } });
  await world.emit('thread.needs_user', 'n1', needs);
  await outcome(world, 'sent');
  const notification = (await world.feed())[0]!;
  const read = await stranger('POST', '/api/v1/notifications/read', { body: { ids: [notification.id] } });
  expect(read.json).toMatchObject({ read: 0, unread: 0 });
  expect((await world.feed())[0]?.readAt).toBeNull();
});

test('a browser in which another person signs in takes their pushes from then on', async () => {
  const world = await openWorld();
  const { subscription } = world.service.device();
  const add = (user: string) => world.as(user)('POST', '/api/v1/push/subscriptions', { body: subscription });
  const first = await add(person);
  const second = await add('user_2');
  expect(second.json.id).not.toBe(first.json.id);
  expect(await devices(world)).toEqual([]);
});

test('more than twenty devices nobody has', async () => {
  const world = await openWorld();
  for (let count = 0; count < 20; count += 1) await world.device();
  const body = world.service.device().subscription;
  const reply = await world.call('POST', '/api/v1/push/subscriptions', { body });
  expect([reply.status, reply.json.error]).toEqual([409, 'too_many_devices']);
});
