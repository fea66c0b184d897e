/** Streams that share the tail: whoever is slow, however far behind, misses nothing and holds nobody up. */
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { eventText } from '../../../src/kit/http/sse.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { ledgerMigrations } from '../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createEventStreams } from '../../../src/runtime-server/events/event-streams.ts';
import type { AgentStateChange } from '../../../src/runtime-server/events/event-tail.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

async function setUp() {
  const clock = createTestClock();
  const store = await openStore({ file: join(scratchFolder(), 'x.db'), migrations: ledgerMigrations, clock });
  onTestFinished(() => store.close());
  const ledger = await createLedger({ store, clock, ids: createIds(clock) });
  let tell: (change: AgentStateChange) => void = () => {};
  const onState = (listener: typeof tell) => {
    tell = listener;
    return () => {
      tell = () => {};
    };
  };
  const streams = createEventStreams({ ledger, clock, onState });
  const append = (count: number) =>
    store.write((tx) => {
      for (let index = 0; index < count; index += 1) {
        const body = { v: 1, delivery: { id: 'd1', state: 'accepted' } };
        ledger.append(tx, { type: 'delivery', actor: 'a', surface: 'cli', subject: 'delivery:d1', body });
      }
    });
  const state = (agentId: string, to: string) => tell({ agentId, state: to } as unknown as AgentStateChange);
  return { ledger, streams, append, state };
}

/** A client that takes what comes while it is `open`. */
function createSink() {
  let free: (() => void)[] = [];
  let text = '';
  const enders: (() => void)[] = [];
  const sink = {
    taking: true,
    ended: false,
    faults: [] as unknown[],
    open: () => {},
    send: (event: Parameters<typeof eventText>[0]) => sink.sendText(eventText(event)),
    sendText(more: string) {
      text += more;
      return sink.taking;
    },
    drained: () => new Promise<void>((resolve) => void free.push(resolve)),
    take() {
      sink.taking = true;
      for (const resolve of free) resolve();
      free = [];
    },
    fail: (error: unknown) => void sink.faults.push(error),
    onEnd: (listener: () => void) => void enders.push(listener),
    leave() {
      sink.ended = true;
      for (const listener of enders) listener();
    },
    ids: () => [...text.matchAll(/^id: (\d+)$/gm)].map((found) => Number(found[1])),
    states: () => [...text.matchAll(/"agentId":"(\w+)","state":"(\w+)"/g)].map((found) => `${found[1]} ${found[2]}`),
  };
  return sink;
}

const none = { after: undefined, lastEventId: undefined };
const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

test('a client that stops taking falls far behind the tail, and gets every event once and in order when it takes again', async () => {
  const { streams, append } = await setUp();
  const [quick, slow] = [createSink(), createSink()];
  await Promise.all([streams.stream(none, quick), streams.stream(none, slow)]);
  slow.taking = false;
  for (let round = 0; round < 40; round += 1) await append(50);
  await vi.waitFor(() => expect(quick.ids()).toEqual(upTo(2000)));
  expect(slow.ids().length).toBeLessThan(200);
  slow.take();
  await append(1);
  await vi.waitFor(() => expect(slow.ids()).toEqual(upTo(2001)));
  expect(quick.ids()).toEqual(upTo(2001));
});

test('a stream that begins long before the tail reaches it without a gap while events go on', async () => {
  const { streams, append } = await setUp();
  const tail = createSink();
  await streams.stream(none, tail);
  for (let round = 0; round < 30; round += 1) await append(50);
  const late = createSink();
  await Promise.all([streams.stream({ after: '7', lastEventId: undefined }, late), append(50)]);
  await append(3);
  await vi.waitFor(() => expect(late.ids()).toEqual(upTo(1553, 8)));
});

test('every stream hears a state once, and one that was slow only the newest of each agent', async () => {
  const { streams, append, state } = await setUp();
  const [quick, slow] = [createSink(), createSink()];
  await Promise.all([streams.stream(none, quick), streams.stream(none, slow)]);
  slow.taking = false;
  await append(1);
  await vi.waitFor(() => expect(slow.ids()).toEqual([1]));
  for (const to of ['starting', 'idle', 'working']) {
    state('one', to);
    await vi.waitFor(() => expect(quick.states().at(-1)).toBe(`one ${to}`));
  }
  slow.take();
  await vi.waitFor(() => expect(slow.states()).toEqual(['one working']));
  expect(quick.states()).toEqual(['one starting', 'one idle', 'one working']);
});

test('the tail ends with its last stream and begins anew with the next one', async () => {
  const { streams, append } = await setUp();
  const first = createSink();
  await streams.stream(none, first);
  await append(2);
  await vi.waitFor(() => expect(first.ids()).toEqual([1, 2]));
  first.leave();
  await append(2);
  const second = createSink();
  await streams.stream({ after: '2', lastEventId: undefined }, second);
  await append(2);
  await vi.waitFor(() => expect(second.ids()).toEqual(upTo(6, 3)));
  expect(first.ids()).toEqual([1, 2]);
});
