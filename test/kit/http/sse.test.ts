import { type IncomingMessage, request } from 'node:http';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { defineRoute } from '../../../src/contracts/common/route.ts';
import { bind, type SseHandler, type SseSink } from '../../../src/kit/http/types.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { onEnd, ownerToken, serve } from './support.ts';

const route = defineRoute({
  op: 'watch',
  area: 'test',
  summary: 'a stream',
  errors: 'factory',
  method: 'GET',
  path: '/api/factory/watch',
  auth: ['owner'],
  scope: 'agents:read',
  owner: 'collection',
  kind: 'sse',
  events: { tick: z.number() },
  answers: { 200: z.unknown() },
});

function open(port: number) {
  let got = '';
  const waiting: (() => void)[] = [];
  const response = new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        path: route.path,
        headers: { authorization: `Bearer ${ownerToken}` },
        agent: false,
      },
      resolve,
    );
    outgoing.on('error', reject);
    outgoing.end();
    onEnd(async () => void outgoing.destroy());
  });
  const reading = response.then((incoming) => {
    incoming.on('error', () => {});
    incoming.on('data', (chunk) => {
      got += String(chunk);
      for (const wake of waiting.splice(0)) wake();
    });
    return incoming;
  });
  return {
    response,
    leave: async () => void (await response).destroy(),
    until: async (part: string) => {
      await reading;
      while (!got.includes(part)) await new Promise<void>((resolve) => void waiting.push(resolve));
      return got;
    },
    end: async () => {
      const incoming = await reading;
      if (!incoming.closed) await new Promise((resolve) => incoming.once('close', resolve));
      return got;
    },
  };
}

const start = (handler: SseHandler<typeof route>, limits = {}) => serve({ routes: [bind(route, handler)], limits });

test('the first byte leaves before the first event', async () => {
  const { port } = await start(() => {});
  const stream = open(port);
  expect(await stream.until(':')).toBe(':\n\n');
  const { headers } = await stream.response;
  expect(headers['content-type']).toBe('text/event-stream; charset=utf-8');
  expect(headers['cache-control']).toBe('no-cache, no-transform');
  expect(headers['content-encoding']).toBeUndefined();
});

test('events carry name, id and one line of JSON, and no id when there is none', async () => {
  const { port } = await start((_, sink) => {
    sink.send({ event: 'tick', id: '7', data: 'two\nlines' });
    sink.send({ data: { a: 1 } });
    sink.send({ id: '', data: null });
    sink.close();
  });
  expect(await open(port).end()).toBe(
    ':\n\nevent: tick\nid: 7\ndata: "two\\nlines"\n\ndata: {"a":1}\n\ndata: null\n\n',
  );
});

test('what is refused before the stream begins is an ordinary error', async () => {
  const { port, call } = await start(async () => {
    await Promise.resolve();
    throw new AppError('usage', 'after is not an id.', 'Leave it out.');
  });
  const reply = await call('GET', route.path);
  expect([reply.status, reply.json.error.code]).toEqual([400, 'usage']);
  for (let again = 0; again < 70; again += 1) await call('GET', route.path);
  expect((await call('GET', route.path)).status).toBe(400);
  expect(port).toBeGreaterThan(0);
});

test('a handler that fails later cuts the stream instead of ending it', async () => {
  const { port } = await start(async (_, sink) => {
    sink.open();
    // Until its head has gone out; before that it would be an ordinary error.
    await new Promise((resolve) => setTimeout(resolve, 20));
    throw new Error('broken');
  });
  const stream = open(port);
  await stream.end();
  expect((await stream.response).complete).toBe(false);
});

test('leaving is felt, and the place is given back', async () => {
  let left = 0;
  const { port, dispatcher } = await start(
    (_, sink) => {
      sink.signal.addEventListener('abort', () => {
        left += 1;
      });
    },
    { eventStreams: 1 },
  );
  const first = open(port);
  await first.until(':');
  const second = await open(port).response;
  expect([second.statusCode, Number(second.headers['retry-after']) > 0]).toEqual([429, true]);
  await first.leave();
  await vi.waitFor(() => expect([left, dispatcher.streams]).toEqual([1, 0]));
  await open(port).until(':');
});

test('a reader that does not read is cut off before it fills our memory', async () => {
  let sink: SseSink | undefined;
  const { port } = await start((_, given) => {
    sink = given;
  });
  const { response } = open(port);
  const incoming = await response;
  incoming.pause();
  await vi.waitFor(() => expect(sink).toBeDefined());
  const event = { data: 'x'.repeat(64 * 1024) };
  let sent = 0;
  let maxWaiting = 0;
  while (!sink!.signal.aborted && sent < 2000) {
    sink!.send(event);
    sent += 1;
    maxWaiting = Math.max(maxWaiting, sent);
    if (sent % 16 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  expect(sink!.signal.aborted).toBe(true);
  // Kernel buffers take a few MB; ours never more than its limit.
  expect(maxWaiting).toBeLessThan(400);
  expect(sink!.send(event)).toBe(false);
  await sink!.drained();
});

test('one event larger than the limit still arrives', async () => {
  const big = 'x'.repeat(600 * 1024);
  const { port } = await start(async (_, sink) => {
    expect(sink.send({ data: big })).toBe(false);
    await sink.drained();
    sink.send({ data: 'after' });
    sink.close();
  });
  const text = await open(port).end();
  expect(text.length).toBeGreaterThan(600 * 1024);
  expect(text.endsWith('data: "after"\n\n')).toBe(true);
});

test('closing ends every stream with a last event', async () => {
  const { port, dispatcher } = await start(() => {});
  const streams = [open(port), open(port)];
  for (const stream of streams) await stream.until(':');
  dispatcher.close('Gantry is stopping.');
  for (const stream of streams) {
    expect(await stream.end()).toBe(':\n\nevent: closing\ndata: {"reason":"Gantry is stopping."}\n\n');
    expect((await stream.response).complete).toBe(true);
  }
});

test('a comment keeps a silent stream alive', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  try {
    const { port } = await start(() => {});
    const stream = open(port);
    await stream.until(':\n\n');
    vi.advanceTimersByTime(15_000);
    expect(await stream.until(':\n\n:\n\n')).toBe(':\n\n:\n\n');
  } finally {
    vi.useRealTimers();
  }
});

test('a stream ends with the credential that opened it, however far off that is and though the wall clock jumps', async () => {
  const clock = createTestClock();
  const [day, minute] = [24 * 60 * 60_000, 60_000];
  const expiresAt = clock.now() + 40 * day;
  const waits: number[] = [];
  let signal: AbortSignal | undefined;
  const { port, dispatcher } = await serve({
    routes: [
      bind(route, (_, sink) => {
        signal = sink.signal;
      }),
    ],
    authenticators: [
      {
        name: 'until then',
        authenticate: () => ({
          kind: 'owner',
          userId: 'user_1',
          scopes: new Set(['agents:read' as const]),
          via: 'key',
          expiresAt,
        }),
      },
    ],
    expiry: {
      clock,
      timers: {
        after(ms, effect) {
          waits.push(ms);
          return clock.after(ms, effect);
        },
      },
    },
  });
  const stream = open(port);
  await stream.until(':');
  // Timers of Node that wait longer fire at once.
  expect(Math.max(...waits)).toBeLessThan(2 ** 31);
  await clock.advance(5 * minute);
  expect([dispatcher.streams, signal?.aborted]).toEqual([1, false]);
  clock.jump(40 * day - 5 * minute - 1);
  await clock.advance(minute);
  await stream.end();
  expect((await stream.response).complete).toBe(false);
  await vi.waitFor(() => expect([dispatcher.streams, signal?.aborted, clock.pending()]).toEqual([0, true, 0]));
});

test('who leaves before the end of their credential leaves no timer behind', async () => {
  const clock = createTestClock();
  const { port } = await serve({
    routes: [bind(route, () => {})],
    authenticators: [
      {
        name: 'until then',
        authenticate: () => ({
          kind: 'owner',
          userId: 'user_1',
          scopes: new Set(['agents:read' as const]),
          via: 'key',
          expiresAt: clock.now() + 60_000,
        }),
      },
    ],
    expiry: { clock, timers: clock },
  });
  const stream = open(port);
  await stream.until(':');
  expect(clock.pending()).toBe(1);
  await stream.leave();
  await vi.waitFor(() => expect(clock.pending()).toBe(0));
});
