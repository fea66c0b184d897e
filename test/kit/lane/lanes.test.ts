/** What ordered lanes promise: order, one at a time, settled once, nothing blocked but its own lane, nothing forgotten. */
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createLanes, type LanesOptions } from '../../../src/kit/lane/create-lanes.ts';
import type { LaneItem, LaneOutcome, Lanes } from '../../../src/kit/lane/lane.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

const done: LaneOutcome = { to: 'done' };
const outcomeTable = { number: 1, name: 'outcome', sql: 'CREATE TABLE outcome (id TEXT PRIMARY KEY, how TEXT) STRICT' };

async function open(options: Partial<LanesOptions> = {}, file = join(scratchFolder(), 'x.db')) {
  const clock = createTestClock();
  const store = await openStore({ file, migrations: [...laneMigrations, outcomeTable], clock });
  onTestFinished(() => store.close());
  const sent: string[] = [];
  const lanes = createLanes({
    store,
    clock,
    timers: clock,
    random: () => 0.5,
    name: 'test',
    send: async (item) => {
      sent.push(item.id);
      return done;
    },
    ...options,
  });
  onTestFinished(() => lanes.close(0));
  const add = (lane: string, id: string, deadline: number | null = null) =>
    store.write((tx) => lanes.append(tx, { lane, id, body: { text: id }, deadline }));
  const quiet = () => clock.advance(0);
  return { clock, store, file, lanes, sent, add, quiet };
}

/** A `send` whose outcomes the test decides, one call after the other. */
function held() {
  const calls: { item: LaneItem; end: (outcome: LaneOutcome) => void }[] = [];
  const send = (item: LaneItem) => new Promise<LaneOutcome>((end) => calls.push({ item, end }));
  return { calls, send };
}

const ids = async (lanes: Lanes, lane: string) => (await lanes.list(lane)).map((item) => item.id);

test('items of a lane are sent in the order of their commits, one at a time', async () => {
  const { calls, send } = held();
  const { lanes, add, quiet } = await open({ send });
  await lanes.start();
  await Promise.all([add('a', '1'), add('a', '2'), add('b', '3')]);
  await quiet();
  expect(calls.map((call) => call.item.id)).toEqual(['1', '3']);
  calls[0]?.end(done);
  await quiet();
  expect(calls.map((call) => call.item.id)).toEqual(['1', '3', '2']);
  expect(calls[2]?.item).toMatchObject({ lane: 'a', body: { text: '2' }, attempt: 1, interrupted: false });
});

test('an item whose operation was undone is never sent', async () => {
  const { store, lanes, sent, add, quiet } = await open();
  await lanes.start();
  const undone = store.write((tx) => {
    lanes.append(tx, { lane: 'a', id: 'undone', body: null });
    throw new Error('no');
  });
  await Promise.allSettled([undone, add('a', 'kept')]);
  await quiet();
  expect(sent).toEqual(['kept']);
  expect(lanes.depth('a')).toBe(0);
});

test('what is appended behind a head that waits does not look through the other lanes, and goes out with it', async () => {
  let away = true;
  let looks = 0;
  const opened = await open({
    gate: () => (away ? 'away' : null),
    timers: {
      after: (ms, listener) => {
        looks += 1;
        return opened.clock.after(ms, listener);
      },
    },
  });
  const { clock, lanes, sent, add, quiet } = opened;
  await lanes.start();
  await Promise.all([add('a', '1'), add('b', '2')]);
  await quiet();
  const before = looks;
  expect(before).toBeGreaterThan(0);
  await Promise.all([add('a', '3'), add('b', '4')]);
  await quiet();
  expect(looks).toBe(before);
  away = false;
  await clock.advance(1000);
  await expect.poll(() => sent.toSorted()).toEqual(['1', '2', '3', '4']);
});

test('an id that is in a lane already is not added again', async () => {
  const { lanes, add } = await open();
  expect(await add('a', '1')).toBe(true);
  expect(await add('b', '1')).toBe(false);
  expect(lanes.depth('a')).toBe(1);
  expect(lanes.depth('b')).toBe(0);
});

test('the outcome is committed together with the removal of the row', async () => {
  const { store, lanes, add, quiet } = await open({
    send: async (item) => ({
      to: 'done',
      commit: (tx) => tx.run('INSERT INTO outcome VALUES (?, ?)', item.id, 'done'),
    }),
  });
  await lanes.start();
  await add('a', '1');
  await quiet();
  expect(await store.read((tx) => tx.all('SELECT id, how FROM outcome'))).toEqual([{ id: '1', how: 'done' }]);
  expect(await ids(lanes, 'a')).toEqual([]);
  expect(lanes.depth('a')).toBe(0);
});

test('a commit that throws leaves the row, is reported, and the next attempt says that it was interrupted', async () => {
  const faults: unknown[] = [];
  const items: LaneItem[] = [];
  const { clock, lanes, add } = await open({
    onFault: (error) => faults.push(error),
    send: async (item) => {
      items.push(item);
      const commit = () => {
        if (items.length === 1) throw new Error('fault');
      };
      return { to: 'done', commit };
    },
  });
  await lanes.start();
  await add('a', '1');
  await clock.advance(999);
  expect(faults).toHaveLength(1);
  expect(await ids(lanes, 'a')).toEqual(['1']);
  await clock.advance(1);
  expect(items[1]).toMatchObject({ id: '1', attempt: 2, interrupted: true });
  expect(lanes.depth('a')).toBe(0);
});

test('a held head blocks its lane alone, and goes on at a wake or by itself', async () => {
  let ready = false;
  const tried: string[] = [];
  const { clock, lanes, add, quiet } = await open({
    send: async (item) => {
      tried.push(item.id);
      return item.lane === 'a' && !ready ? { to: 'hold', reason: 'the bot is busy' } : done;
    },
  });
  await lanes.start();
  await Promise.all([add('a', '1'), add('a', '2'), add('b', '3')]);
  await quiet();
  expect(tried).toEqual(['1', '3']);
  expect((await lanes.list('a')).map((item) => [item.id, item.waiting, item.attempts])).toEqual([
    ['1', 'the bot is busy', 0],
    ['2', null, 0],
  ]);
  lanes.wake('b');
  await quiet();
  expect(tried).toHaveLength(2);
  lanes.wake('a');
  await quiet();
  expect(tried).toEqual(['1', '3', '1']);
  ready = true;
  await clock.advance(1000);
  expect(tried).toEqual(['1', '3', '1', '1', '2']);
});

test('a wake while the head is out is not lost', async () => {
  const { calls, send } = held();
  const { lanes, add, quiet } = await open({ send });
  await lanes.start();
  await add('a', '1');
  await quiet();
  lanes.wake('a');
  calls[0]?.end({ to: 'hold', reason: 'busy' });
  await quiet();
  expect(calls).toHaveLength(2);
});

test('a closed gate holds the lane without a commit, and deadlines pass meanwhile', async () => {
  let gate: string | null = 'starting';
  const expired: string[] = [];
  const { clock, lanes, sent, add } = await open({
    gate: () => gate,
    onExpired: (tx, item) => {
      tx.run('INSERT INTO outcome VALUES (?, ?)', item.id, 'expired');
      expired.push(item.id);
    },
  });
  await lanes.start();
  await add('a', 'short', clock.now() + 2500);
  await add('a', 'long', clock.now() + 60_000);
  await clock.advance(2000);
  expect((await lanes.list('a'))[0]).toMatchObject({ id: 'short', waiting: 'starting', attempts: 0 });
  await clock.advance(1000);
  expect(expired).toEqual(['short']);
  expect(lanes.depth('a')).toBe(1);
  gate = null;
  await clock.advance(1000);
  expect(sent).toEqual(['long']);
});

test('retries follow the schedule, then the reason of a throw is shown, and a deadline ends them', async () => {
  const tries: number[] = [];
  const expired: LaneItem[] = [];
  const { clock, lanes, add } = await open({
    backoffMs: [1000, 5000],
    onExpired: (_tx, item) => expired.push(item),
    send: async () => {
      tries.push(clock.monotonic());
      throw new Error('no route');
    },
  });
  await lanes.start();
  await add('a', '1', clock.now() + 13_000);
  await clock.advance(12_000);
  expect(tries).toEqual([0, 1000, 6000, 11_000]);
  expect((await lanes.list('a'))[0]).toMatchObject({ waiting: 'no route', attempts: 4, sending: false });
  await clock.advance(1000);
  expect(expired).toMatchObject([{ id: '1', attempt: 4 }]);
  expect(lanes.depth('a')).toBe(0);
  expect(tries).toHaveLength(4);
});

test('a retry may name its own time; a clock set back an hour does not keep the lane for an hour', async () => {
  const tries: number[] = [];
  const { clock, lanes, add } = await open({
    send: async () => {
      tries.push(clock.monotonic());
      return tries.length === 1 ? { to: 'retry', reason: 'later', at: clock.now() + 7000 } : done;
    },
  });
  await lanes.start();
  await add('a', '1');
  await clock.advance(0);
  clock.jump(-3_600_000);
  await clock.advance(7000);
  expect(tries).toEqual([0, 7000]);
});

test('a start after a clock was ahead waits no longer than the schedule would', async () => {
  const one = await open({ send: async () => ({ to: 'retry', reason: 'later' }) });
  await one.lanes.start();
  one.clock.jump(676_000);
  await one.add('a', '1');
  await one.quiet();
  await one.lanes.close(0);
  await one.store.close();

  const two = await open({}, one.file);
  await two.lanes.start();
  await two.clock.advance(999);
  expect(two.sent).toEqual([]);
  await two.clock.advance(1);
  expect(two.sent).toEqual(['1']);
});

test('a row can be taken out while it waits, and not while it is being sent', async () => {
  const { calls, send } = held();
  const { store, lanes, add, quiet } = await open({ send });
  await lanes.start();
  await Promise.all([add('a', '1'), add('a', '2'), add('a', '3')]);
  await quiet();
  const remove = (id: string) => store.write((tx) => lanes.remove(tx, id));
  expect([await remove('1'), await remove('2'), await remove('none')]).toEqual([false, true, false]);
  expect(lanes.depth('a')).toBe(2);
  calls[0]?.end(done);
  await quiet();
  expect(calls.map((call) => call.item.id)).toEqual(['1', '3']);
});

test('a lane can be cleared of all but what is being sent, and no other with it', async () => {
  const { calls, send } = held();
  const { store, lanes, add, quiet } = await open({ send });
  await lanes.start();
  await Promise.all([add('a', '1'), add('a', '2'), add('a', '3'), add('b', '4')]);
  await quiet();
  expect(await store.write((tx) => lanes.clear(tx, 'a'))).toBe(2);
  expect([lanes.depth('a'), lanes.depth('b')]).toEqual([1, 1]);
  calls[0]?.end(done);
  await add('a', '5');
  await quiet();
  expect(calls.map((call) => call.item.id)).toEqual(['1', '4', '5']);
});

test('a hold may name its own time, which its deadline ends; several lanes are woken together and the others sleep on', async () => {
  const tried: string[] = [];
  const expired: string[] = [];
  const { clock, lanes, add, quiet } = await open({
    send: async (item) => {
      tried.push(item.id);
      return { to: 'hold', reason: 'away', forMs: 60_000 };
    },
    onExpired: (_tx, item) => void expired.push(item.id),
  });
  await lanes.start();
  await Promise.all([add('a', '1'), add('b', '2'), add('c', '3', clock.now() + 30_000)]);
  await clock.advance(29_000);
  expect([tried, expired]).toEqual([['1', '2', '3'], []]);
  await clock.advance(1_000);
  expect(expired).toEqual(['3']);
  lanes.wake([]);
  await quiet();
  expect(tried).toHaveLength(3);
  lanes.wake(['a', 'unknown']);
  await quiet();
  expect(tried).toEqual(['1', '2', '3', '1']);
  await clock.advance(30_000);
  expect(tried).toEqual(['1', '2', '3', '1', '2']);
});

test('at most as many lanes as allowed send at once, and none is forgotten', async () => {
  const { calls, send } = held();
  const { lanes, add, quiet } = await open({ send, parallel: 2 });
  await lanes.start();
  await Promise.all(['a', 'b', 'c', 'd'].map((lane) => add(lane, lane)));
  await quiet();
  expect(calls).toHaveLength(2);
  calls[0]?.end(done);
  calls[1]?.end(done);
  await quiet();
  expect(calls.map((call) => call.item.id)).toEqual(['a', 'b', 'c', 'd']);
});

test('nothing is sent before start, and start goes on where an earlier run ended', async () => {
  const first = held();
  const one = await open({ send: first.send });
  await one.lanes.start();
  await Promise.all([one.add('a', '1'), one.add('a', '2'), one.add('b', '3')]);
  await one.quiet();
  first.calls[1]?.end(done);
  await one.quiet();
  await one.lanes.close(0);
  await one.store.close();

  const second = held();
  const two = await open({ send: second.send }, one.file);
  await two.add('c', '4');
  await two.quiet();
  expect(second.calls).toHaveLength(0);
  await Promise.all([two.lanes.start(), two.add('c', '5')]);
  await two.quiet();
  expect(second.calls.map((call) => [call.item.id, call.item.attempt, call.item.interrupted])).toEqual([
    ['1', 2, true],
    ['4', 1, false],
  ]);
  expect(Object.fromEntries(two.lanes.depths())).toEqual({ a: 2, c: 2 });
});

test('an item that was interrupted once says so until it is settled, also after it was held', async () => {
  const first = held();
  const one = await open({ send: first.send });
  await one.lanes.start();
  await Promise.all([one.add('a', '1'), one.add('a', '2')]);
  await one.quiet();
  await one.lanes.close(0);
  await one.store.close();

  const second = held();
  const two = await open({ send: second.send }, one.file);
  await two.lanes.start();
  await two.quiet();
  second.calls[0]?.end({ to: 'hold', reason: 'starting' });
  await two.clock.advance(1000);
  second.calls[1]?.end({ to: 'retry', reason: 'no route' });
  await two.clock.advance(2000);
  second.calls[2]?.end(done);
  await two.quiet();
  expect(second.calls.map(({ item }) => [item.id, item.attempt, item.interrupted])).toEqual([
    ['1', 2, true],
    ['1', 2, true],
    ['1', 3, true],
    ['2', 1, false],
  ]);
});

test('close lets a send under way end and notes its outcome, and begins no other', async () => {
  const { calls, send } = held();
  const { lanes, add, quiet } = await open({ send });
  await lanes.start();
  await Promise.all([add('a', '1'), add('a', '2')]);
  await quiet();
  const closing = lanes.close();
  calls[0]?.end(done);
  await closing;
  await quiet();
  expect(calls).toHaveLength(1);
  expect((await lanes.list('a')).map((item) => [item.id, item.sending])).toEqual([['2', false]]);
});

test('lanes of two names in one store do not see each other', async () => {
  const { clock, store, lanes, add } = await open();
  const other = createLanes({ store, clock, timers: clock, name: 'other', send: async () => done });
  await add('a', '1');
  expect(await store.write((tx) => other.append(tx, { lane: 'a', id: '1', body: 1 }))).toBe(true);
  expect(await store.write((tx) => other.remove(tx, '1'))).toBe(true);
  expect(await ids(lanes, 'a')).toEqual(['1']);
});

test('whatever sends answer, each lane settles its items once and in order', async () => {
  const outcome = fc.constantFrom('done', 'dead', 'hold', 'retry', 'throw');
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ lane: fc.constantFrom('a', 'b', 'c'), fate: fc.array(outcome, { maxLength: 4 }) }), {
        maxLength: 12,
      }),
      async (plan) => {
        const settled: string[] = [];
        const out = new Set<string>();
        const { clock, store, lanes } = await open({
          parallel: 2,
          send: async (item) => {
            expect(out.has(item.lane)).toBe(false);
            out.add(item.lane);
            await new Promise((resolve) => setImmediate(resolve));
            out.delete(item.lane);
            const fate = plan[Number(item.id)]?.fate.shift() ?? 'done';
            const commit = () => settled.push(item.id);
            if (fate === 'throw') throw new Error('x');
            if (fate === 'done' || fate === 'dead') return { to: fate, reason: 'x', commit };
            return { to: fate as 'hold' | 'retry', reason: 'x' };
          },
        });
        await lanes.start();
        await Promise.all(
          plan.map((entry, index) =>
            store.write((tx) => lanes.append(tx, { lane: entry.lane, id: String(index), body: null })),
          ),
        );
        // Bounded: an item has at most four misfortunes, each of less than a minute's wait.
        for (let minute = 0; minute < 200 && lanes.depths().size > 0; minute += 1) await clock.advance(60_000);
        for (const lane of ['a', 'b', 'c']) {
          const expected = plan.flatMap((entry, index) => (entry.lane === lane ? [String(index)] : []));
          expect(settled.filter((id) => plan[Number(id)]?.lane === lane)).toEqual(expected);
        }
        expect(lanes.depths().size).toBe(0);
        await lanes.close(0);
        await store.close();
      },
    ),
    { numRuns: 30 },
  );
}, 60_000);

test('many lanes of one person that hang hold up nobody else, and give way as soon as one ends', async () => {
  const { calls, send } = held();
  const { lanes, store, quiet } = await open({ send, parallel: 16 });
  await lanes.start();
  const add = (person: string, n: number) =>
    store.write((tx) => lanes.append(tx, { lane: `${person}/${n}`, id: `${person}/${n}`, body: null, person }));
  for (let n = 0; n < 100; n += 1) await add('mallory', n);
  await quiet();
  expect(calls.map(({ item }) => item.id)).toEqual(['mallory/0', 'mallory/1']);
  await add('ada', 0);
  await quiet();
  expect(calls.at(-1)?.item.id).toBe('ada/0');
  calls[0]?.end({ to: 'retry', reason: 'it hung' });
  await quiet();
  expect(calls.filter(({ item }) => item.id.startsWith('mallory'))).toHaveLength(3);
  expect(calls).toHaveLength(4);
});

test('persons take turns: who has much to send is not served again before who waits for a first place', async () => {
  const { calls, send } = held();
  const { lanes, store, quiet } = await open({ send, parallel: 2 });
  const people = ['a', 'b', 'c', 'd'];
  for (const person of people) {
    for (let n = 0; n < 3; n += 1) {
      const lane = `${person}${n}`;
      await store.write((tx) => lanes.append(tx, { lane, id: lane, body: null, person }));
    }
  }
  await lanes.start();
  await quiet();
  for (let n = 0; n < 12; n += 1) {
    calls[n]?.end(done);
    await quiet();
  }
  const order = calls.map(({ item }) => item.id);
  expect(order).toEqual(['a0', 'b0', 'c0', 'd0', 'a1', 'b1', 'c1', 'd1', 'a2', 'b2', 'c2', 'd2']);
});
