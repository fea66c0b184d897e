import { expect, test } from 'vitest';
import {
  openEventStream,
  type StreamEvent,
  type StreamState,
  type StreamTimers,
} from '../../src/client/event-stream.ts';
import { AppError } from '../../src/contracts/common/errors.ts';

/** A server of one connection at a time, whose bytes the test writes. */
function createFakeServer() {
  const opened: { lastEventId: string | null; write(text: string): void; cut(): void; aborted(): boolean }[] = [];
  let refuse: AppError | null = null;
  return {
    opened,
    refuse: (error: AppError | null) => {
      refuse = error;
    },
    open: async (lastEventId: string | null, signal: AbortSignal): Promise<Response> => {
      if (refuse !== null) throw refuse;
      let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
      const body = new ReadableStream<Uint8Array>({
        start: (given) => {
          controller = given;
        },
      });
      signal.addEventListener('abort', () => {
        try {
          controller?.error(new Error('aborted'));
        } catch {
          // Already closed.
        }
      });
      opened.push({
        lastEventId,
        write: (text) => controller?.enqueue(new TextEncoder().encode(text)),
        cut: () => controller?.error(new Error('cut')),
        aborted: () => signal.aborted,
      });
      return new Response(body);
    },
  };
}

/** Timers that the test fires; `random` 1 makes the backoff exact. */
function createHandTimers(): StreamTimers & { fire(ms: number): void; waiting(): number[] } {
  let tasks: { ms: number; task: () => void }[] = [];
  return {
    random: () => 1,
    after(ms, task) {
      const entry = { ms, task };
      tasks.push(entry);
      return () => {
        tasks = tasks.filter((one) => one !== entry);
      };
    },
    fire(ms) {
      const due = tasks.find((one) => one.ms === ms);
      if (due === undefined) throw new Error(`no timer of ${ms} ms among ${tasks.map((one) => one.ms).join()}`);
      tasks = tasks.filter((one) => one !== due);
      due.task();
    },
    waiting: () => tasks.map((one) => one.ms).sort((a, b) => a - b),
  };
}

// What follows a change of the server happens in later turns of the loop.
const settled = () => new Promise<void>((resolve) => setTimeout(resolve, 5));

function start(options: { lastEvent?: string; lastEventId?: string; idsRepeat?: boolean } = {}) {
  const server = createFakeServer();
  const timers = createHandTimers();
  const events: StreamEvent[] = [];
  const states: StreamState[] = [];
  const stream = openEventStream({
    open: server.open,
    onEvent: (event) => events.push(event),
    onState: (state) => states.push(state),
    timers,
    ...options,
  });
  return { server, timers, events, states, stream };
}

test('a cut stream is resumed after the last id and what was already given is dropped', async () => {
  const { server, timers, events } = start();
  await settled();
  server.opened[0]?.write('id: 9\ndata: 1\n\nid: 10\ndata: 2\n\n');
  await settled();
  server.opened[0]?.cut();
  await settled();
  timers.fire(250);
  await settled();
  expect(server.opened[1]?.lastEventId).toBe('10');
  server.opened[1]?.write('id: 9\ndata: 1\n\nid: 10\ndata: 2\n\nid: 11\ndata: 3\n\n');
  await settled();
  expect(events.map((event) => event.data)).toEqual([1, 2, 3]);
});

test('events without an id are given and leave the cursor alone', async () => {
  const { server, events, stream } = start();
  await settled();
  server.opened[0]?.write('id: 3\ndata: 1\n\ndata: {"type":"agent.state"}\n\n');
  await settled();
  expect(events).toHaveLength(2);
  expect(stream.lastEventId()).toBe('3');
});

test('an approval id becomes the cursor without blocking later ledger ids', async () => {
  const { server, events, stream } = start();
  await settled();
  server.opened[0]?.write('id: 3\ndata: 1\n\nid: engine_1~apr-x\ndata: 2\n\n');
  await settled();
  expect(stream.lastEventId()).toBe('engine_1~apr-x');
  server.opened[0]?.write('id: 3\ndata: 1\n\nid: 4\ndata: 4\n\n');
  await settled();
  expect(events.map((event) => event.data)).toEqual([1, 2, 4]);
});

test('where ids are times, two events of one moment are both given, and so is one that comes late', async () => {
  const { server, timers, events } = start({ idsRepeat: true });
  await settled();
  server.opened[0]?.write('id: 9\ndata: 1\n\nid: 9\ndata: 2\n\nid: 8\ndata: 3\n\n');
  await settled();
  server.opened[0]?.cut();
  await settled();
  timers.fire(250);
  await settled();
  expect(server.opened[1]?.lastEventId).toBe('8');
  expect(events.map((event) => event.data)).toEqual([1, 2, 3]);
});

test('after a reset smaller ids are given again', async () => {
  const { server, events } = start({ lastEventId: '900' });
  await settled();
  server.opened[0]?.write('event: reset\ndata: {"reason":"unknown"}\n\nid: 2\ndata: 2\n\n');
  await settled();
  expect(events.map((event) => event.event)).toEqual(['reset', 'message']);
});

test('a failing server is asked again at growing distances, one attempt at a time', async () => {
  const { server, timers, states } = start();
  server.refuse(new AppError('transport', 'Gone.', ''));
  await settled();
  server.opened[0]?.cut();
  await settled();
  for (const ms of [250, 500, 1000, 2000, 4000, 8000, 10_000, 10_000]) {
    expect(timers.waiting()).toEqual([ms]);
    timers.fire(ms);
    await settled();
  }
  expect(states.filter((state) => state.kind === 'waiting')).toHaveLength(9);
});

test.each(['refused', 'not_found', 'usage'] as const)(
  '%s ends the stream: asking again cannot mend it',
  async (code) => {
    const server = createFakeServer();
    server.refuse(new AppError(code, 'No.', ''));
    const timers = createHandTimers();
    const stream = openEventStream({ open: server.open, onEvent: () => {}, timers });
    expect(await stream.ended).toMatchObject({ code });
    expect(timers.waiting()).toEqual([]);
  },
);

test('a rate limit is waited out as long as the server asks', async () => {
  const server = createFakeServer();
  server.refuse(new AppError('refused', 'Slow.', '', { status: 429, retryAfter: 7 }));
  const timers = createHandTimers();
  openEventStream({ open: server.open, onEvent: () => {}, timers });
  await settled();
  expect(timers.waiting()).toEqual([7250]);
});

test('a silent connection is given up and resumed', async () => {
  const { server, timers } = start();
  await settled();
  timers.fire(45_000);
  await settled();
  expect(server.opened[0]?.aborted()).toBe(true);
  timers.fire(250);
  await settled();
  expect(server.opened).toHaveLength(2);
});

test('the last event of a stream ends it without a reconnect', async () => {
  const { server, timers, stream, events } = start({ lastEvent: 'gone' });
  await settled();
  server.opened[0]?.write('event: screen\ndata: 1\n\nevent: gone\ndata: {"reason":"x"}\n\nevent: screen\ndata: 2\n\n');
  expect(await stream.ended).toBeNull();
  await settled();
  expect(events.map((event) => event.event)).toEqual(['screen', 'gone']);
  expect(timers.waiting()).toEqual([]);
});

test('closing while a reconnect waits leaves nothing behind', async () => {
  const { server, timers, stream } = start();
  await settled();
  server.opened[0]?.cut();
  await settled();
  stream.close();
  stream.close();
  expect(await stream.ended).toBeNull();
  expect(timers.waiting()).toEqual([]);
});

test('a character cut between two pieces arrives whole', async () => {
  const received: StreamEvent[] = [];
  const stream = openEventStream({
    onEvent: (event) => received.push(event),
    open: async () =>
      new Response(
        new ReadableStream({
          start(controller) {
            for (const byte of new TextEncoder().encode('data: "ü€"\n\n')) controller.enqueue(Uint8Array.of(byte));
          },
        }),
      ),
  });
  await settled();
  stream.close();
  expect(received.map((event) => event.data)).toEqual(['ü€']);
});
