/** What lanes promise over a shared store: the same on both engines, and on PostgreSQL from several processes at once. Real time. */
import { describe, expect, onTestFinished, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { type Clock, systemClock } from '../../../src/kit/clock/clock.ts';
import type { Timers } from '../../../src/kit/clock/timers.ts';
import type { LaneItem, SharedLaneOutcome } from '../../../src/kit/lane/lane.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createSharedLanes, type SharedLanesOptions } from '../../../src/kit/lane/shared-lanes.ts';
import { answered } from '../../../src/kit/store/answered.ts';
import { type Engine, engines, type Place } from '../../support/engines.ts';
import { seededRandom } from '../../support/kill-loop.ts';
import { createTestClock } from '../../support/test-clock.ts';

const done: SharedLaneOutcome = { to: 'done' };
const migrations = [
  ...laneMigrations,
  { number: 1, name: 'outcome', sql: 'CREATE TABLE outcome (id TEXT PRIMARY KEY, how TEXT NOT NULL) STRICT' },
];

/** One worker, as each process has one. */
async function worker(place: Place, options: Partial<SharedLanesOptions> & Pick<SharedLanesOptions, 'send'>) {
  const store = await place.open(migrations);
  const lanes = createSharedLanes({
    store,
    clock: systemClock,
    name: 'test',
    recheckMs: 20,
    backoffMs: [5],
    ...options,
  });
  onTestFinished(() => lanes.close(0));
  const add = (lane: string, id: string, deadline: number | null = null) =>
    store.write((tx) => lanes.append(tx, { lane, id, body: { text: id }, deadline }));
  return { store, lanes, add };
}
type Worker = Awaited<ReturnType<typeof worker>>;

const rowsOf = async ({ store }: Worker) =>
  (await store.all<{ id: string }>('SELECT id FROM lane_item ORDER BY seq')).map(({ id }) => id);

describe.each(engines)('on $name', ({ place }) => {
  test('whatever sends answer, each lane settles its items once, in order, one at a time, with what they caused', async () => {
    const random = seededRandom(7);
    const out = new Set<string>();
    const settled: Record<string, string[]> = { a: [], b: [], c: [] };
    const { lanes, add, store } = await worker(await place(), {
      async send(item) {
        expect(out).not.toContain(item.lane);
        out.add(item.lane);
        await new Promise((resolve) => setTimeout(resolve, random() * 3));
        out.delete(item.lane);
        const roll = random();
        if (roll < 0.2) throw new Error('no way');
        if (roll < 0.4) return { to: 'hold', reason: 'busy' };
        settled[item.lane]!.push(item.id);
        const commit: Extract<SharedLaneOutcome, { to: 'done' }>['commit'] = (tx) =>
          tx.run('INSERT INTO outcome VALUES (?, ?)', item.id, item.lane);
        return roll < 0.7 ? { to: 'done', commit } : { to: 'dead', reason: 'refused', commit };
      },
    });
    await lanes.start();
    const wanted: Record<string, string[]> = { a: [], b: [], c: [] };
    for (let n = 0; n < 30; n += 1) {
      const lane = 'abc'[n % 3]!;
      wanted[lane]!.push(`${lane}${n}`);
      await add(lane, `${lane}${n}`);
    }
    await expect.poll(() => Object.values(settled).flat().length, { interval: 20 }).toBe(30);
    await expect.poll(async () => (await store.all('SELECT id FROM lane_item')).length, { interval: 20 }).toBe(0);
    expect(settled).toEqual(wanted);
    expect(await store.all('SELECT id FROM outcome')).toHaveLength(30);
    expect([...lanes.depths()]).toEqual([]);
  });

  test.each<SharedLaneOutcome>([
    { to: 'hold', reason: 'away', forMs: 3600_000 },
    { to: 'retry', reason: 'away', at: Date.now() + 3600_000 },
  ])(
    'what was out while its lane was cleared leaves when it is put off by a $to, and the next one is sent',
    async (putOff) => {
      const out = Promise.withResolvers<void>();
      const answer = Promise.withResolvers<SharedLaneOutcome>();
      const sent: string[] = [];
      const one = await worker(await place(), {
        isWanted: (_tx, item) => answered(item.id !== '1'),
        async send(item) {
          sent.push(item.id);
          if (item.id !== '1') return done;
          out.resolve();
          return answer.promise;
        },
      });
      await one.lanes.start();
      await one.add('a', '1');
      await out.promise;
      await one.add('a', '2');
      expect(await one.store.write((tx) => one.lanes.clear(tx, 'a'))).toBe(1);
      await one.add('a', '3');
      answer.resolve(putOff);
      await expect.poll(() => rowsOf(one), { interval: 20 }).toEqual([]);
      await expect.poll(() => [...one.lanes.depths()], { interval: 20 }).toEqual([]);
      expect(sent).toEqual(['1', '3']);
    },
  );

  test('an operation that is undone appends nothing; an id that is in a lane is not added again', async () => {
    const sent: string[] = [];
    const { lanes, add, store } = await worker(await place(), {
      async send(item) {
        sent.push(item.id);
        return done;
      },
    });
    const undone = store.write(function* (tx) {
      yield* lanes.append(tx, { lane: 'a', id: 'undone', body: null });
      throw new Error('no');
    });
    await expect(undone).rejects.toThrow('no');
    expect(await add('a', 'kept')).toBe(true);
    expect(await add('b', 'kept')).toBe(false);
    await lanes.start();
    await expect.poll(() => sent).toEqual(['kept']);
  });

  test('an outcome that cannot be noted leaves the row, and the next attempt says that it was interrupted', async () => {
    const items: LaneItem[] = [];
    const faults: unknown[] = [];
    const made = await worker(await place(), {
      onFault: (fault) => faults.push(fault),
      async send(item) {
        items.push(item);
        if (items.length > 1) return done;
        return { to: 'done', commit: (tx) => tx.run('INSERT INTO nothing VALUES (1)') };
      },
    });
    await made.lanes.start();
    await made.add('a', '1');
    await expect.poll(() => items.length).toBe(2);
    expect(items.map(({ attempt, interrupted }) => [attempt, interrupted])).toEqual([
      [1, false],
      [2, true],
    ]);
    expect(faults).toHaveLength(1);
    await expect.poll(() => rowsOf(made)).toEqual([]);
  });

  test('what waits past its deadline is given up, whatever its head does', async () => {
    const expired: string[] = [];
    const { lanes, add, store } = await worker(await place(), {
      send: async () => ({ to: 'hold', reason: 'closed' }),
      onExpired: (tx, item) => {
        expired.push(item.id);
        return tx.run('INSERT INTO outcome VALUES (?, ?)', item.id, 'expired');
      },
    });
    await lanes.start();
    await add('a', 'late', Date.now() + 60);
    await add('a', 'stays');
    await expect.poll(() => store.all('SELECT id FROM outcome')).toEqual([{ id: 'late' }]);
    expect(expired).toContain('late');
    expect((await lanes.list('a')).map(({ id }) => id)).toEqual(['stays']);
  });
});

describe.each(engines.filter(({ name }) => name === 'postgres'))('several processes on $name', ({ place }: Engine) => {
  test('three workers bring away what any of them appended, each item once and each lane in its order', async () => {
    const there = await place();
    const out = new Set<string>();
    const sent: Record<string, string[]> = {};
    const by = new Set<number>();
    const workers = await Promise.all(
      [0, 1, 2].map((index) =>
        worker(there, {
          // Two of the four lanes: whoever is up first must not hold them all while it waits for another one.
          parallel: 2,
          async send(item) {
            expect(out).not.toContain(item.lane);
            out.add(item.lane);
            by.add(index);
            // Whoever begins waits for another one with another lane.
            do await new Promise((resolve) => setTimeout(resolve, 2));
            while (by.size < 2);
            out.delete(item.lane);
            sent[item.lane] = [...(sent[item.lane] ?? []), item.id];
            return done;
          },
        }),
      ),
    );
    const wanted: Record<string, string[]> = {};
    for (let n = 0; n < 60; n += 1) {
      const lane = `lane ${n % 4}`;
      await workers[n % 3]!.add(lane, `${n}`);
      wanted[lane] = [...(wanted[lane] ?? []), `${n}`];
      if (n === 20) for (const { lanes } of workers) await lanes.start();
    }
    await expect.poll(() => Object.values(sent).flat().length).toBe(60);
    expect(sent).toEqual(wanted);
    await expect.poll(() => rowsOf(workers[0]!)).toEqual([]);
    for (const { lanes } of workers) await expect.poll(() => [...lanes.depths()]).toEqual([]);
    await expect.poll(() => workers[0]!.store.all('SELECT lane FROM lane_hold')).toEqual([]);
  });

  test('a hold that a killed process took while its clock was ahead holds nothing up', async () => {
    const sent: string[] = [];
    const made = await worker(await place(), {
      async send(item) {
        sent.push(item.id);
        return done;
      },
    });
    const held = (lane: string, forMs: number) =>
      made.store.write((tx) =>
        tx.run('INSERT INTO lane_hold VALUES (?, ?, ?, ?)', 'test', lane, 'somebody', Date.now() + forMs),
      );
    await held('taken ahead', 676_000);
    await held('held by another', 15_000);
    await made.add('held by another', 'waits');
    await made.add('taken ahead', 'goes');
    await made.lanes.start();
    await expect.poll(() => rowsOf(made)).toEqual(['waits']);
    expect(sent).toEqual(['goes']);
  });

  /** Time that the test moves on, for leases; everything else in real time. */
  function leaseClock() {
    let ahead = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + ahead };
    return { clock, pass: (ms: number) => (ahead += ms) };
  }
  /** A process that stands still. */
  const never: Timers = { after: () => () => {} };

  test('the head of a process that stands still is sent by another, which knows that it was interrupted; what the first still says does not count', async () => {
    const there = await place();
    const { clock, pass } = leaseClock();
    let end = (_outcome: SharedLaneOutcome) => {};
    let began = false;
    const first = await worker(there, {
      clock,
      timers: never,
      send: () =>
        new Promise((resolve) => {
          began = true;
          end = resolve;
        }),
    });
    const items: LaneItem[] = [];
    const second = await worker(there, {
      clock,
      async send(item) {
        items.push(item);
        return { to: 'done', commit: (tx) => tx.run('INSERT INTO outcome VALUES (?, ?)', item.id, 'second') };
      },
    });
    await first.lanes.start();
    await first.add('a', '1');
    await expect.poll(() => began).toBe(true);
    await second.lanes.start();
    // Nothing may happen: the second would have taken it by now.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(items).toEqual([]);
    pass(16_000);
    await expect.poll(() => items.length).toBe(1);
    expect(items[0]).toMatchObject({ id: '1', attempt: 2, interrupted: true });
    await expect.poll(() => rowsOf(second)).toEqual([]);
    end({ to: 'done', commit: (tx) => tx.run('INSERT INTO outcome VALUES (?, ?)', '1', 'first') });
    // Nobody hears that what comes too late counts for nothing: it would stand there by now.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(await second.store.all('SELECT how FROM outcome')).toEqual([{ how: 'second' }]);
  });

  test.each(['settled and the next one taken out', 'taken out'])(
    'what was %s, but not heard, was sent by nobody and does not count as interrupted',
    async (cut) => {
      const there = await place();
      const { clock } = leaseClock();
      const items: LaneItem[] = [];
      let unheard = 0;
      const opened = await there.open(migrations);
      const store: typeof opened = {
        ...opened,
        async write(operation, options) {
          const answer = await opened.write(operation, options);
          // Taken out, for the first time or after the one before, and gone as it was to be told.
          const head = (answer as { id?: unknown } | null)?.id;
          if (unheard > 0 || head !== (cut === 'taken out' ? '1' : '2')) return answer;
          unheard += 1;
          throw new AppError('transport', 'It went away at the end.', '', { unknownEnd: true });
        },
      };
      const { lanes, add } = await worker(
        { open: async () => store },
        {
          clock,
          async send(item) {
            items.push(item);
            return { to: 'done', commit: (tx) => tx.run('INSERT INTO outcome VALUES (?, ?)', item.id, 'sent') };
          },
        },
      );
      for (const id of ['1', '2', '3']) await add('a', id);
      await lanes.start();
      await expect.poll(() => items.length).toBe(3);
      expect(unheard).toBe(1);
      expect(items.map(({ id, attempt, interrupted }) => [id, attempt, interrupted])).toEqual(
        ['1', '2', '3'].map((id) => [id, 1, false]),
      );
      await expect.poll(() => opened.all('SELECT id FROM lane_item')).toEqual([]);
      expect(await opened.all('SELECT id FROM outcome ORDER BY id')).toHaveLength(3);
    },
  );

  test('what one postponed goes out at once when another is told that it can', async () => {
    const there = await place();
    const first = await worker(there, {
      backoffMs: [60_000],
      send: async () => ({ to: 'retry', reason: 'not linked' }),
    });
    await first.lanes.start();
    await first.add('computer', '1');
    await expect.poll(async () => (await first.lanes.list('computer'))[0]?.waiting).toBe('not linked');
    const sent: string[] = [];
    const second = await worker(there, {
      backoffMs: [60_000],
      async send(item) {
        sent.push(item.id);
        return done;
      },
    });
    await second.lanes.start();
    second.lanes.wake('computer');
    await expect.poll(() => sent).toEqual(['1']);
  });

  test('what was read before a head was put off does not send it again early', async () => {
    const opened = await (await place()).open(migrations);
    const clock = createTestClock();
    let reads = 0;
    const read = Promise.withResolvers<void>();
    const store: typeof opened = {
      ...opened,
      async read(operation) {
        const answer = await opened.read(operation);
        reads += 1;
        await read.promise;
        return answer;
      },
    };
    const sent: string[] = [];
    const answer = Promise.withResolvers<SharedLaneOutcome>();
    const { lanes, add } = await worker(
      { open: async () => store },
      {
        clock,
        timers: clock,
        backoffMs: [60_000],
        random: () => 0.5,
        async send(item) {
          sent.push(item.id);
          return item.lane === 'a' ? answer.promise : done;
        },
      },
    );
    await lanes.start();
    await add('a', 'put off');
    await expect.poll(() => sent).toEqual(['put off']);
    await clock.advance(1000);
    await expect.poll(() => reads).toBe(1);
    answer.resolve({ to: 'retry', reason: 'not linked' });
    const postponed = 'SELECT id FROM lane_item WHERE not_before > ?';
    await expect.poll(() => opened.all(postponed, clock.now())).toHaveLength(1);
    // Both lanes are sent by one process: the second one's end comes after the first one's.
    await add('b', 'after it');
    await expect.poll(() => opened.all('SELECT id FROM lane_item')).toEqual([{ id: 'put off' }]);
    read.resolve();
    await add('b', 'after the look');
    await expect.poll(() => opened.all('SELECT id FROM lane_item')).toEqual([{ id: 'put off' }]);
    expect(sent).toEqual(['put off', 'after it', 'after the look']);
    await clock.advance(60_000);
    await expect.poll(() => sent.at(-1)).toBe('put off');
  });
});
