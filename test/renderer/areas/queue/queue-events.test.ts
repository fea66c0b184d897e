import { QueryClient, QueryObserver } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { StreamHandlers } from '../../../../src/client/client.ts';
import { queueKeys } from '../../../../src/renderer/areas/queue/queries.ts';
import { createQueueEvents, gatherMs } from '../../../../src/renderer/areas/queue/queue-events.ts';
import type { Slot } from '../../../../src/renderer/base/data/stream-slots.ts';

beforeEach(() => {
  vi.useFakeTimers();
  vi.stubGlobal('document', { hidden: false });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

/** `readMs`: how long one reading of the list takes. */
function setUp({ slots = 1, readMs = 0 } = {}) {
  const client = new QueryClient();
  let reads = 0;
  const queryFn = async () => {
    reads += 1;
    if (readMs > 0) await new Promise((resolve) => setTimeout(resolve, readMs));
    return { tasks: [{ id: 'a', status: 'queued' }], next_cursor: null };
  };
  const observer = new QueryObserver(client, { queryKey: queueKeys.page({}, undefined), queryFn });
  const stop = observer.subscribe(() => {});
  const streams: { handlers: StreamHandlers; closed: boolean }[] = [];
  let free = slots;
  const events = createQueueEvents({
    client,
    slots: {
      async take() {
        if (free === 0) return null;
        free -= 1;
        const release = () => {
          free += 1;
        };
        return { onTaken: () => {}, release } satisfies Slot;
      },
    },
    queue: {
      streamTasks(_, handlers) {
        const stream = { handlers, closed: false };
        streams.push(stream);
        const close = () => {
          stream.closed = true;
        };
        return { close, ended: new Promise(() => {}), lastEventId: () => null };
      },
    },
  });
  const shown = () =>
    client.getQueryData<{ tasks: { status: string }[] }>(queueKeys.page({}, undefined))?.tasks[0]?.status;
  const tell = (status: string, id = 'a') =>
    streams.at(-1)?.handlers.onEvent({ event: 'task', id: '1', data: { id, status } });
  return { client, events, streams, tell, shown, stop, reads: () => reads, free: () => free };
}
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);

test('a change is seen at once in the rows that show its task, and is read again a little later', async () => {
  const q = setUp();
  q.events.watch();
  await pass(0);
  expect(q.reads()).toBe(1);
  q.tell('running');
  expect(q.shown()).toBe('running');
  await pass(gatherMs);
  expect(q.reads()).toBe(2);
  expect(q.shown()).toBe('queued');
  q.stop();
});

test('a thousand changes are one reading, and slow readings leave the server most of the time', async () => {
  const q = setUp({ readMs: 500 });
  q.events.watch();
  await pass(600);
  expect(q.reads()).toBe(1);
  for (let second = 0; second < 30; second += 1) {
    for (let count = 0; count < 1000; count += 1) q.tell('running', `task_${count}`);
    await pass(1000);
  }
  // Half a second each: a quarter of the half minute, and no more.
  expect(q.reads()).toBeGreaterThan(8);
  expect(q.reads()).toBeLessThan(18);
  q.stop();
});

test('what came while it was read is read afterwards', async () => {
  const q = setUp({ readMs: 100 });
  q.events.watch();
  await pass(200);
  q.tell('leased');
  await pass(gatherMs + 50);
  q.tell('running');
  await pass(5_000);
  expect(q.reads()).toBe(3);
  await pass(60_000);
  expect(q.reads()).toBe(3);
  q.stop();
});

test('a stream that is open again, or was reset, is followed by a reading: what it missed is not told', async () => {
  const q = setUp();
  q.events.watch();
  await pass(0);
  q.streams[0]?.handlers.onState?.({ kind: 'open' });
  await pass(gatherMs + 10);
  expect(q.reads()).toBe(2);
  q.streams[0]?.handlers.onEvent({ event: 'reset', id: null, data: null });
  await pass(gatherMs + 10);
  expect(q.reads()).toBe(3);
  q.stop();
});

test('many who look share one stream, and the last to leave gives its slot back', async () => {
  const q = setUp();
  const one = q.events.watch();
  const two = q.events.watch();
  await pass(0);
  expect(q.streams).toHaveLength(1);
  one();
  expect(q.streams[0]?.closed).toBe(false);
  two();
  expect(q.streams[0]?.closed).toBe(true);
  expect(q.free()).toBe(1);
  q.events.watch()();
  await pass(10_000);
  expect(q.free()).toBe(1);
  expect(q.streams).toHaveLength(1);
  q.stop();
});

test('without a free stream it reads now and then, and not while nobody can see it', async () => {
  const q = setUp({ slots: 0 });
  const leave = q.events.watch();
  await pass(10_000);
  const seen = q.reads();
  expect(seen).toBeGreaterThan(2);
  vi.stubGlobal('document', { hidden: true });
  await pass(1_000);
  const before = q.reads();
  await pass(30_000);
  expect(q.reads()).toBe(before);
  vi.stubGlobal('document', { hidden: false });
  await pass(5_000);
  expect(q.reads()).toBeGreaterThan(before);
  leave();
  const after = q.reads();
  await pass(30_000);
  expect(q.reads()).toBe(after);
  q.stop();
});
