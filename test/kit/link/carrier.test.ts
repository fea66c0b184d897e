/** What runs over a link, with a real network between its ends that is cut, held and slow. */
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemTimers, type Timers } from '../../../src/kit/clock/timers.ts';
import { maxPipes } from '../../../src/kit/link/carrier.ts';
import {
  linkCaller,
  startTestCloud,
  startTestComputer,
  type TestCloudOptions,
  type TestComputerOptions,
} from '../../support/link.ts';
import { createTestClock } from '../../support/test-clock.ts';

/** Requests that this computer has begun to answer, and those that it lost. */
function recorder() {
  const seen: { path: string; request: IncomingMessage; lost: Promise<void> }[] = [];
  const waiting: (() => void)[] = [];
  const engine: RequestListener = (incoming, response) => {
    const lost = new Promise<void>((resolve) => response.once('close', () => !response.writableFinished && resolve()));
    seen.push({ path: incoming.url ?? '', request: incoming, lost });
    for (const wake of waiting.splice(0)) wake();
    if (incoming.url === '/hash') {
      const hash = createHash('sha256');
      incoming.on('data', (chunk) => hash.update(chunk)).on('end', () => response.end(hash.digest('hex')));
      incoming.on('error', () => {});
    } else if (incoming.url === '/flood') {
      const block = Buffer.alloc(64 * 1024, 1);
      const write = () => {
        while (!response.destroyed && response.write(block));
      };
      response.on('drain', write).on('error', () => {});
      write();
    } else if (incoming.url === '/stream') response.write('first');
    else if (incoming.url !== '/never') response.end('ok');
  };
  return {
    engine,
    seen,
    async at(path: string) {
      for (;;) {
        const found = seen.find((each) => each.path === path);
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}

async function setUp(options: TestComputerOptions = {}, cloudOptions: TestCloudOptions = {}) {
  const cloud = await startTestCloud(cloudOptions);
  const record = recorder();
  const computer = await startTestComputer(cloud, { engine: record.engine, ...options });
  const caller = linkCaller(cloud.dialIns, computer.id);
  onTestFinished(async () => {
    caller.agent.destroy();
    await computer.close();
    await cloud.close();
  });
  await computer.linked();
  return { cloud, computer, caller, record };
}

/** What a request comes to; a request that never settles fails the test by its time limit. */
const outcome = (promise: Promise<unknown>) =>
  promise.then(
    () => 'answered',
    (error: NodeJS.ErrnoException) => error.code ?? error.message,
  );

const readAll = async (response: IncomingMessage) => {
  for await (const _ of response);
};

test('requests and uploads run over a link as over a socket, on connections that are used again', async () => {
  const { caller, cloud, computer, record } = await setUp();
  expect(await caller.call('/a')).toEqual({ status: 200, text: 'ok' });
  const body = randomBytes(3_000_000);
  const sent = await Promise.all(Array.from({ length: 4 }, () => caller.call('/hash', 'POST', body)));
  const expected = createHash('sha256').update(body).digest('hex');
  expect(sent.map(({ text }) => text)).toEqual([expected, expected, expected, expected]);
  expect(record.seen).toHaveLength(5);
  // Idle connections are used again.
  const before = cloud.dialIns.state(computer.id);
  for (let n = 0; n < 20; n += 1) await caller.call('/a');
  expect(Object.values(caller.agent.freeSockets).flat()).toHaveLength(4);
  expect(cloud.dialIns.state(computer.id)).toEqual(before);
});

test('what is written arrives at once, and each side feels it when the other one leaves', async () => {
  const { caller, record } = await setUp();
  const stream = await caller.start('/stream');
  expect(String((await once(stream, 'data'))[0])).toBe('first');
  stream.destroy();
  await (await record.at('/stream')).lost;
  const never = caller.start('/never');
  (await record.at('/never')).request.socket.destroy();
  expect(await outcome(never)).toBe('ECONNRESET');
});

test('cut in the middle of an upload and of a stream, both sides see it and nobody takes it for whole', async () => {
  const { caller, computer, record } = await setUp();
  const stream = await caller.start('/stream');
  await once(stream, 'data');
  const ended = outcome(readAll(stream));
  const upload = request({ agent: caller.agent, host: 'engine', path: '/hash', method: 'POST' });
  const refused = once(upload, 'error');
  upload.write(randomBytes(100_000));
  const arrived = await record.at('/hash');
  computer.wire.cutAll();
  expect(await ended).toBe('ECONNRESET');
  expect(((await refused)[0] as NodeJS.ErrnoException).code).toBe('ECONNRESET');
  await Promise.all([arrived.lost, (await record.at('/stream')).lost]);
  expect(arrived.request.complete).toBe(false);
  // And the computer comes back by itself.
  await computer.linked();
  expect((await caller.call('/again')).text).toBe('ok');
});

test('readers that stand still hold up nobody and are not read ahead for without end', async () => {
  const { caller, record } = await setUp();
  const before = process.memoryUsage().arrayBuffers;
  const stalled = await Promise.all(Array.from({ length: 40 }, () => caller.start('/flood')));
  for (let n = 0; n < 20; n += 1) expect((await caller.call('/a')).text).toBe('ok');
  // Time in which a sender without bounds would go on reading.
  await delay(100);
  expect((await caller.call('/a')).text).toBe('ok');
  // A window of half a MiB each, and what sockets hold; both ends are in this process.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40 * 4 * 1024 * 1024);
  for (const response of stalled) response.destroy();
  await Promise.all(record.seen.filter(({ path }) => path === '/flood').map(({ lost }) => lost));
});

test('as many connections as a link takes are open at once; one more is refused until one is given back', async () => {
  const { cloud, computer, caller } = await setUp();
  const open = await Promise.all(Array.from({ length: maxPipes }, () => cloud.dialIns.open(computer.id, 'engine')));
  await expect(cloud.dialIns.open(computer.id, 'engine')).rejects.toMatchObject({ code: 'refused', status: 429 });
  open[0]!.destroy();
  await once(open[0]!, 'close');
  expect((await caller.call('/a')).text).toBe('ok');
  for (const pipe of open) pipe.destroy();
});

test('a page that gives up a thousand requests in a moment does not cost the link', async () => {
  const { cloud, computer, caller } = await setUp();
  const { since } = cloud.dialIns.state(computer.id);
  for (let round = 0; round < 12; round += 1) {
    const pipes = await Promise.all(Array.from({ length: 100 }, () => cloud.dialIns.open(computer.id, 'engine')));
    for (const pipe of pipes) pipe.destroy();
    await Promise.all(pipes.map((pipe) => once(pipe, 'close')));
  }
  expect((await caller.call('/a')).text).toBe('ok');
  expect(cloud.dialIns.state(computer.id)).toEqual({ linked: true, since });
});

test('a caller’s own time limit holds over a link, and its connection is let go', async () => {
  const { caller, record } = await setUp();
  const call = request({ agent: caller.agent, host: 'engine', path: '/never', timeout: 50 });
  call.on('error', () => {});
  call.end();
  await once(call, 'timeout');
  call.destroy();
  await (await record.at('/never')).lost;
});

test('a door that is not there is refused without harm', async () => {
  const { cloud, computer, caller } = await setUp();
  const pipe = await cloud.dialIns.open(computer.id, 'cellar' as never);
  const [error] = await once(pipe, 'error');
  expect((error as NodeJS.ErrnoException).code).toBe('ECONNRESET');
  expect((await caller.call('/a')).text).toBe('ok');
});

test('cut again and again under load every request settles, nothing is thrown, and the link comes back', async () => {
  const { caller, computer } = await setUp({ random: () => 0.01 });
  const results = { answered: 0, failed: 0 };
  let stop = false;
  const load = Array.from({ length: 12 }, async () => {
    while (!stop) {
      const got = await outcome(caller.call('/a'));
      results[got === 'answered' ? 'answered' : 'failed'] += 1;
      if (got !== 'answered') await delay(2);
    }
  });
  for (let cut = 0; cut < 8; cut += 1) {
    const stream = caller.start('/stream').then(readAll);
    const flood = caller.start('/flood').then(readAll);
    // At another moment of the load each time.
    await delay(20 + 8 * cut);
    computer.wire.cutAll();
    expect(['ECONNRESET', 'transport']).toContain(await outcome(stream));
    expect(['ECONNRESET', 'transport']).toContain(await outcome(flood));
    await computer.linked();
  }
  stop = true;
  await Promise.all(load);
  expect(results.answered).toBeGreaterThan(0);
});

test('a link on which nothing moves is taken for dead by both ends after two pings without an answer', async () => {
  const time = createTestClock();
  const dialTime = createTestClock();
  const { cloud, computer, caller } = await setUp(
    { clock: dialTime, timers: dialTime, random: () => 0 },
    { clock: time, timers: time },
  );
  const both = (ms: number) => Promise.all([time.advance(ms), dialTime.advance(ms)]);
  /** Of either side only the beat waits. */
  const rest = '1,1';
  /** Three seconds after a call each side asks whether the other one is there, and hears that it is. */
  const call = async () => {
    await caller.call('/a');
    await both(3_000);
    await vi.waitUntil(() => [time.pending(), dialTime.pending()].join() === rest, { timeout: 10_000 });
  };
  // Answered pings keep it, however long nothing else moves.
  for (let beat = 0; beat < 6; beat += 1) {
    await call();
    await both(12_000);
  }
  await call();
  expect(computer.dialer.state().linked).toBe(true);
  computer.wire.holdAll();
  await time.advance(12_000);
  await time.advance(15_000);
  expect(cloud.dialIns.state(computer.id).linked).toBe(true);
  await time.advance(15_000);
  expect(cloud.dialIns.state(computer.id)).toEqual({ linked: false, since: time.now() });
  for (let beat = 0; beat < 3; beat += 1) await dialTime.advance(15_000);
  await dialTime.advance(1);
  await computer.linked();
  expect((await caller.call('/a')).text).toBe('ok');
});

test('whoever asks over a link that was cut without a word waits twelve seconds, and not for the pings', async () => {
  const time = createTestClock();
  const { cloud, computer, caller, record } = await setUp({}, { timers: time });
  const never = outcome(caller.start('/never'));
  await record.at('/never');
  // A request that takes long is no cut: the computer answers when it is asked whether it is there.
  await time.advance(3_000);
  await caller.call('/a');
  await time.advance(9_000);
  await caller.call('/a');
  expect(cloud.dialIns.state(computer.id).linked).toBe(true);
  computer.wire.holdAll();
  const next = outcome(caller.start('/next'));
  await time.advance(3_000);
  await time.advance(8_999);
  expect(cloud.dialIns.state(computer.id).linked).toBe(true);
  await time.advance(1);
  expect(cloud.dialIns.state(computer.id).linked).toBe(false);
  expect([await never, await next]).toEqual(['ECONNRESET', 'ECONNRESET']);
});

test('a link outlives a standstill of a program: what came meanwhile is read before the link counts as cut', async () => {
  const still = new Int32Array(new SharedArrayBuffer(4));
  let stood = false;
  // The waits after something was sent are twenty times as short; once the other side has been asked, all stands still for longer than it has to answer.
  const timers: Timers = {
    after(ms, effect) {
      if (ms > 9_000) return systemTimers.after(ms, effect);
      const cancel = systemTimers.after(ms / 20, effect);
      if (ms > 3_000 && !stood) {
        stood = true;
        Atomics.wait(still, 0, 0, 600);
      }
      return cancel;
    },
  };
  const { cloud, computer, caller } = await setUp({}, { timers });
  const linked = cloud.dialIns.state(computer.id);
  await caller.call('/a');
  await vi.waitUntil(() => stood, { timeout: 10_000 });
  expect((await caller.call('/a')).text).toBe('ok');
  expect(cloud.dialIns.state(computer.id)).toEqual(linked);
});
