/** The outbox of a computer: real database and lanes; the cloud is the two answers it can give. */
import { expect, test } from 'vitest';
import type { ForwardedEvent } from '../../../src/contracts/events/routes.ts';
import type { ReportedSpend } from '../../../src/contracts/usage/routes.ts';
import { iso } from '../../../src/kit/clock/clock.ts';
import { createLanes } from '../../../src/kit/lane/create-lanes.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createOutbox } from '../../../src/runtime-server/events/outbox.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

const clock = createTestClock();

async function open(file: string) {
  const store = await openStore({ file, migrations: laneMigrations, clock });
  const seen: { path: string; ids: string[] }[] = [];
  const warned: string[] = [];
  let home: string | null = null;
  let answer: () => { status: number; body: unknown } = () => ({ status: 200, body: { accepted: 1, refused: [] } });
  const outbox = createOutbox({
    clock,
    home: () => home,
    log: { warn: (message) => void warned.push(message) },
    openLanes: (send) =>
      createLanes({ store, clock, timers: clock, random: () => 0.5, name: 'events', send, backoffMs: [1000] }),
    call: async ({ path, body }) => {
      const { events, lines } = body as { events?: ForwardedEvent[]; lines?: ReportedSpend[] };
      const answered = answer();
      seen.push({ path, ids: [...(events ?? []), ...(lines ?? [])].map(({ id }) => id) });
      return answered;
    },
  });
  await outbox.start();
  return {
    store,
    outbox,
    seen,
    warned,
    answers: (next: typeof answer) => {
      answer = next;
    },
    pairs: (next: string | null) => {
      home = next;
    },
    emit: (...ids: string[]) =>
      store.write((tx) => {
        for (const id of ids) {
          const data = { itemId: id, title: `Mail ${id}` };
          outbox.emit(tx, { type: 'inbox.item.created', id, data });
        }
      }),
    async close() {
      await outbox.close();
      await store.close();
    },
  };
}

const away = () => {
  throw new Error('nobody listens');
};

test('events wait while the cloud is away, also over a restart, and go in their order once it is back', async () => {
  const file = `${scratchFolder()}/runtime.db`;
  const first = await open(file);
  first.answers(away);
  await first.emit('m1', 'm2');
  await clock.advance(10);
  await first.emit('m3', 'm1');
  await first.close();
  expect(first.seen).toEqual([]);

  const second = await open(file);
  second.answers(() => ({ status: 503, body: null }));
  await clock.advance(2000);
  expect(new Set(second.seen.map(({ ids }) => ids[0]))).toEqual(new Set(['m1']));
  second.answers(() => ({ status: 200, body: { accepted: 1, refused: [] } }));
  second.seen.length = 0;
  second.outbox.wake();
  await clock.advance(10);
  expect(second.seen).toEqual(['m1', 'm2', 'm3'].map((id) => ({ path: '/api/v1/runtime/events', ids: [id] })));
  await second.close();
});

test('an event that the cloud refuses holds up none behind it, and neither does one that nobody could bring for a week', async () => {
  const { emit, answers, seen, warned, close } = await open(`${scratchFolder()}/runtime.db`);
  answers(() => ({ status: 200, body: { accepted: 0, refused: [{ index: 0, id: 'm1', error: 'unknown_event' }] } }));
  await emit('m1', 'm2');
  await clock.advance(10);
  expect(seen.map(({ ids }) => ids)).toEqual([['m1'], ['m2']]);
  expect(warned).toHaveLength(2);
  answers(away);
  await emit('m3');
  await clock.advance(10);
  clock.jump(8 * 24 * 60 * 60_000);
  answers(() => ({ status: 200, body: { refused: [] } }));
  seen.length = 0;
  await emit('m4');
  await clock.advance(60_000);
  expect(seen.map(({ ids }) => ids)).toEqual([['m4']]);
  await close();
});

test('money is reported in cents, apart from events, and never where the price is not known', async () => {
  const { store, outbox, seen, answers, close } = await open(`${scratchFolder()}/runtime.db`);
  const bodies: unknown[] = [];
  answers(() => ({ status: 200, body: { accepted: 1 } }));
  const spend = { at: clock.now(), agentId: 'agent_1', runId: null, model: 'm-1' };
  await store.write((tx) => {
    outbox.spent(tx, { ...spend, id: 's1', microUsd: 12_345 });
    outbox.spent(tx, { ...spend, id: 's2', microUsd: null });
    const row = tx.get<{ body: string }>("SELECT body FROM lane_item WHERE lane = 'usage'");
    bodies.push(JSON.parse(row?.body ?? 'null'));
  });
  await clock.advance(10);
  expect(seen).toEqual([{ path: '/api/v1/runtime/usage', ids: ['s1'] }]);
  const line = { id: 's1', at: iso(spend.at), botId: 'agent_1', runId: null, model: 'm-1', cents: 1.2345 };
  expect(bodies).toEqual([line]);
  await close();
});

test('what waits for the home of one person never goes to the next one, money neither; what was made while unpaired goes', async () => {
  const { store, outbox, seen, warned, answers, pairs, emit, close } = await open(`${scratchFolder()}/runtime.db`);
  const spend = { at: clock.now(), agentId: 'agent_1', runId: null, model: 'm-1', microUsd: 12_345 };
  const spent = (id: string) => store.write((tx) => outbox.spent(tx, { ...spend, id }));
  answers(away);
  await emit('free');
  await spent('s-free');
  pairs('https://a.example user_ada');
  await emit('ada');
  await spent('s-ada');
  await clock.advance(10);
  pairs('https://a.example user_bob');
  await emit('bob');
  await spent('s-bob');
  seen.length = 0;
  const bodies: unknown[] = [];
  answers(() => ({ status: 200, body: { accepted: 1 } }));
  outbox.wake();
  await clock.advance(10);
  bodies.push(...seen.map(({ ids }) => ids[0]));
  expect(bodies.toSorted()).toEqual(['bob', 'free', 's-bob', 's-free']);
  expect(warned).toHaveLength(2);
  await close();
});

test('what waits stays for the same home, also when it is paired anew', async () => {
  const { outbox, seen, answers, pairs, emit, close } = await open(`${scratchFolder()}/runtime.db`);
  pairs('https://a.example user_ada');
  answers(away);
  await emit('ada');
  await clock.advance(10);
  pairs(null);
  await clock.advance(60_000);
  pairs('https://a.example user_ada');
  answers(() => ({ status: 200, body: { refused: [] } }));
  outbox.wake();
  await clock.advance(10);
  expect(seen.map(({ ids }) => ids)).toEqual([['ada']]);
  await close();
});
