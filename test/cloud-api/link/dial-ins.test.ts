/** Who may dial in, which connection counts, and how one ends. */
import { once } from 'node:events';
import type { IncomingMessage, RequestListener } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { dialInHeaders, linkPath } from '../../../src/contracts/link/dial-in.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { newToken } from '../../../src/kit/secrets/token-file.ts';
import { signatureHeaders, signedHeaders, signingKey } from '../../../src/kit/signing/signature.ts';
import { linkCaller, startTestCloud, startTestComputer, type TestCloud, untilLinked } from '../../support/link.ts';
import { createTestClock } from '../../support/test-clock.ts';

async function cloudOf(options: Parameters<typeof startTestCloud>[0] = {}) {
  const cloud = await startTestCloud(options);
  onTestFinished(() => cloud.close());
  return cloud;
}

async function computerOf(cloud: TestCloud, options: Parameters<typeof startTestComputer>[1] = {}) {
  const computer = await startTestComputer(cloud, options);
  onTestFinished(() => computer.close());
  return computer;
}

const token = newToken();
const key = signingKey(token);

function signed(more: { key?: string; id?: string; path?: string; at?: number; epoch?: number; token?: string } = {}) {
  const { id = 'computer_1', path = linkPath, at = systemClock.now() } = more;
  return {
    ...signedHeaders({ runtimeId: id, key: more.key ?? key, now: () => at }, { method: 'GET', path, body: '' }),
    [dialInHeaders.epoch]: String(more.epoch ?? 1),
    [dialInHeaders.token]: more.token ?? newToken(),
  };
}

interface Dialled {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly socket: WebSocket;
}

/** Dials as nobody of ours would. 101: it was let in. */
function dial(cloud: TestCloud, headers: Record<string, string>): Promise<Dialled> {
  const socket = new WebSocket(`ws://127.0.0.1:${cloud.port}${linkPath}`, { headers, perMessageDeflate: false });
  onTestFinished(() => socket.terminate());
  return new Promise((resolve) => {
    socket.on('error', () => {});
    socket.once('open', () => resolve({ status: 101, body: {}, socket }));
    socket.once('unexpected-response', (_request, response: IncomingMessage) => {
      let text = '';
      response.on('data', (part) => {
        text += String(part);
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text), socket }));
    });
  });
}

const never: RequestListener = (request, response) => {
  if (request.url === '/never') response.write('begun');
  else response.end('ok');
};

test('only a computer that is known, signs right and says what it must is let in', async () => {
  const cloud = await cloudOf();
  cloud.keys.set('computer_1', key);
  const wrong: [string, Record<string, string>, number][] = [
    ['unsigned', { [dialInHeaders.epoch]: '1', [dialInHeaders.token]: newToken() }, 401],
    ['another key', signed({ key: signingKey(newToken()) }), 401],
    ['an unknown computer', signed({ id: 'computer_2' }), 401],
    ['signed for another path', signed({ path: '/api/v1/runtime/rotate' }), 401],
    ['no epoch', { ...signed(), [dialInHeaders.epoch]: '' }, 400],
    ['an epoch that is no number', { ...signed(), [dialInHeaders.epoch]: '1e9' }, 400],
    ['a token that anybody guesses', signed({ token: 'x' }), 400],
    ['half a signature', { ...signed(), [signatureHeaders.sig]: '' }, 401],
  ];
  for (const [what, headers, status] of wrong)
    expect([what, (await dial(cloud, headers)).status]).toEqual([what, status]);
  expect(cloud.dialIns.state('computer_1').linked).toBe(false);
});

test('an upgrade that is sent a second time is refused', async () => {
  const cloud = await cloudOf();
  cloud.keys.set('computer_1', key);
  const headers = signed();
  expect((await dial(cloud, headers)).status).toBe(101);
  expect(await dial(cloud, { ...headers, [dialInHeaders.epoch]: '2' })).toMatchObject({
    status: 401,
    body: { error: 'unauthorized' },
  });
});

test('a clock that is off is told the time, and the computer dials by it', async () => {
  const cloud = await cloudOf();
  cloud.keys.set('computer_1', key);
  const { status, body } = await dial(cloud, signed({ at: systemClock.now() - 3_600_000 }));
  expect([status, body.error]).toEqual([401, 'clock_skew']);
  expect(Math.abs(Number(body.serverTime) * 1000 - systemClock.now())).toBeLessThan(60_000);
  const slow = { now: () => systemClock.now() - 7_200_000, monotonic: () => systemClock.monotonic() };
  const computer = await computerOf(cloud, { clock: slow, random: () => 1 });
  await computer.linked();
});

test('the newest connection counts, what runs on the one before may finish, and an older one is refused', async () => {
  const time = createTestClock(systemClock.now());
  const cloud = await cloudOf({ timers: time });
  const one = await computerOf(cloud, { engine: never });
  await one.linked();
  const caller = linkCaller(cloud.dialIns, one.id);
  expect((await caller.call('/a')).text).toBe('ok');
  const stream = await caller.start('/never');
  await once(stream, 'data');
  const before = cloud.dialIns.credential(one.id);
  const changes: boolean[] = [];
  cloud.dialIns.onChange((_id, linked) => changes.push(linked));
  // The first does not come back while the second is there.
  one.dialer.onChange(() => void one.dialer.stop());
  const two = await computerOf(cloud, { id: one.id, engine: (_request, response) => response.end('second') });
  while (cloud.dialIns.credential(one.id) === before) await turn();
  expect(changes).toEqual([true]);
  for (let n = 0; n < 3; n += 1) expect((await caller.call('/a')).text).toBe('second');
  expect(stream.destroyed).toBe(false);
  expect(
    await dial(cloud, signed({ key: cloud.keys.get(one.id)!, epoch: 5, at: systemClock.now() + 100_000 })),
  ).toMatchObject({
    status: 409,
    body: { error: 'conflict', epoch: expect.any(Number) },
  });
  const cut = once(stream, 'error');
  await time.advance(30_000);
  await cut;
  expect(two.dialer.state().linked).toBe(true);
});

test('a computer that counts from an earlier time learns which connection is the newest', async () => {
  const cloud = await cloudOf();
  cloud.keys.set('computer_1', key);
  const ahead = await computerOf(cloud, { clock: { ...systemClock, now: () => systemClock.now() + 200_000 } });
  await ahead.linked();
  ahead.dialer.onChange(() => void ahead.dialer.stop());
  const credential = cloud.dialIns.credential('computer_1');
  await computerOf(cloud, { id: 'computer_1', random: () => 1 });
  while (cloud.dialIns.credential('computer_1') === credential) await turn();
  expect(cloud.dialIns.state('computer_1').linked).toBe(true);
});

test('a revoked computer is cut off at once, whatever runs, and is not let in again', async () => {
  const cloud = await cloudOf();
  const computer = await computerOf(cloud, { engine: never, random: () => 0.5 });
  await computer.linked();
  const caller = linkCaller(cloud.dialIns, computer.id);
  const stream = await caller.start('/never');
  await once(stream, 'data');
  const cut = once(stream, 'error');
  cloud.keys.delete(computer.id);
  cloud.dialIns.end(computer.id, 'Its pairing was ended.');
  expect(cloud.dialIns.state(computer.id).linked).toBe(false);
  expect(cloud.dialIns.credential(computer.id)).toBeNull();
  await cut;
  await expect(cloud.dialIns.open(computer.id, 'engine')).rejects.toMatchObject({ code: 'transport' });
  while (!/401/.test(computer.dialer.state().problem ?? '')) await new Promise((resolve) => setTimeout(resolve, 10));
});

test('a revocation also reaches the connection that is just being made', async () => {
  const cloud = await cloudOf();
  cloud.keys.set('computer_1', key);
  const lookedUp = new Promise<void>((resolve) => cloud.onLookUp(resolve));
  const dialled = dial(cloud, signed());
  // The key is good when it is looked up; the pairing ends while the signature is noted.
  await lookedUp;
  cloud.dialIns.end('computer_1', 'Its pairing was ended.');
  expect((await dialled).status).toBe(401);
});

test('who is away is told so, since when, and each connection has a bearer of its own', async () => {
  const time = createTestClock(systemClock.now());
  const cloud = await cloudOf({ clock: time });
  expect(cloud.dialIns.state('computer_1')).toEqual({ linked: false, since: 0 });
  const tokens: string[] = [];
  const linkToken = () => {
    tokens.push(newToken());
    return tokens.at(-1)!;
  };
  const computer = await computerOf(cloud, { linkToken, random: () => 0 });
  await computer.linked();
  expect(cloud.dialIns.credential(computer.id)).toBe(tokens[0]);
  time.jump(5000);
  computer.wire.cutAll();
  await untilLinked(cloud.dialIns, computer.id, false);
  expect(cloud.dialIns.state(computer.id)).toEqual({ linked: false, since: time.now() });
  await expect(cloud.dialIns.open(computer.id, 'engine')).rejects.toMatchObject({
    code: 'transport',
    fact: expect.stringContaining(new Date(time.now()).toISOString()),
  });
  await computer.linked();
  expect(cloud.dialIns.credential(computer.id)).toBe(tokens.at(-1));
  expect(new Set(tokens).size).toBe(tokens.length);
});

test('whoever is let in and sends no HTTP/2 is thrown out, and nobody else feels it', async () => {
  const cloud = await cloudOf();
  const computer = await computerOf(cloud, { id: 'computer_2' });
  await computer.linked();
  cloud.keys.set('computer_1', key);
  const junk = [Buffer.from('GET / HTTP/1.1\r\n\r\n'), 'words', Buffer.alloc(2_000_000), Buffer.alloc(100)];
  for (const [index, data] of junk.entries()) {
    const { socket, status } = await dial(cloud, signed({ epoch: index + 1, at: systemClock.now() + 1000 * index }));
    expect(status).toBe(101);
    socket.send(data);
    await once(socket, 'close');
  }
  expect(cloud.dialIns.state('computer_1').linked).toBe(false);
  expect((await linkCaller(cloud.dialIns, 'computer_2').call('/a')).text).toBe('ok');
});

test('who is let in and says nothing is thrown out', async () => {
  const time = createTestClock(systemClock.now());
  const cloud = await cloudOf({ timers: time });
  cloud.keys.set('computer_1', key);
  const { socket } = await dial(cloud, signed());
  const closed = once(socket, 'close');
  await time.advance(15_000);
  await closed;
});

test('a cloud that closes lets what runs finish, takes nothing new, and says so', async () => {
  const cloud = await startTestCloud();
  let finish: (() => void) | null = null;
  const computer = await startTestComputer(cloud, {
    engine: (request, response) => {
      if (request.url !== '/slow') return response.end('ok');
      finish = () => response.end('whole');
    },
  });
  onTestFinished(() => computer.close());
  await computer.linked();
  const caller = linkCaller(cloud.dialIns, computer.id);
  await caller.call('/a');
  const slow = caller.call('/slow');
  while (finish === null) await turn();
  const away = untilLinked(cloud.dialIns, computer.id, false);
  const closed = cloud.dialIns.close(20_000);
  await away;
  await expect(cloud.dialIns.open(computer.id, 'engine')).rejects.toMatchObject({ code: 'transport' });
  cloud.keys.set('computer_9', key);
  expect((await dial(cloud, signed({ id: 'computer_9' }))).status).toBe(503);
  (finish as () => void)();
  expect((await slow).text).toBe('whole');
  await closed;
  await cloud.close();
});
