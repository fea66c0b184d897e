/** What receipts promise to whoever takes events in: the same on both engines, and on PostgreSQL from two processes at once. */
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../../src/kit/lane/shared-lanes.ts';
import { type Arrival, createReceipts } from '../../../src/kit/receipts/receipts.ts';
import { engines, type Place } from '../../support/engines.ts';

const day = 24 * 3600_000;
const now = Date.UTC(2026, 0, 20);
const migrations = [
  ...laneMigrations,
  {
    area: 'test',
    number: 1,
    name: 'posted',
    sql: `CREATE TABLE posted (id TEXT PRIMARY KEY, said TEXT, seen_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE INDEX posted_seen ON posted (seen_at);
      CREATE TABLE listener (name TEXT PRIMARY KEY) STRICT;`,
  },
];

type How = Partial<Arrival> & { readonly at?: number };

/** One process that takes events in; nothing is sent, so that what was taken can be looked at. */
async function open(place: Place) {
  const store = await place.open(migrations);
  const lanesOf = (name: string) =>
    createSharedLanes({ store, clock: systemClock, name, send: async () => ({ to: 'done' }) });
  const lanes = lanesOf('posted');
  const receipts = createReceipts(store, 'posted', lanes);
  const ids = async (table: string) =>
    (await store.all<{ id: string }>(`SELECT id FROM ${table} ORDER BY id`)).map(({ id }) => id);
  return {
    store,
    lanes,
    lanesOf,
    receipts,
    take: (id: string, { at = now, ...more }: How = {}) =>
      receipts.take({ receipt: { id, said: null, seen_at: at }, item: { lane: 'a', body: id }, ...more }),
    kept: () => ids('posted'),
    waiting: () => ids('lane_item'),
    settle: (id: string) => store.write((tx) => lanes.remove(tx, id)),
  };
}

const wanted: Arrival['wanted'] = {
  sql: {
    sqlite: 'SELECT 1 AS found FROM listener WHERE name = ?',
    postgres: 'SELECT 1 AS found FROM listener WHERE name = ? FOR KEY SHARE',
  },
  values: ['me'],
};
const cut = (): never => {
  throw new Error('cut');
};

describe.each(engines)('receipts on $name', ({ place, name }) => {
  test('an event that is posted many times at once is taken once, by whichever process', async () => {
    const floor = await place();
    const one = await open(floor);
    const two = name === 'postgres' ? await open(floor) : one;
    const seen = await Promise.all(Array.from({ length: 12 }, (_, n) => (n % 2 === 0 ? one : two).take('evt')));
    expect(seen.toSorted()).toEqual([...Array.from({ length: 11 }, () => 'again'), 'first']);
    expect([await one.kept(), await one.waiting()]).toEqual([['evt'], ['evt']]);
  });

  test('a receipt, what brings it on and what else goes with it are one commit', async () => {
    const it = await open(await place());
    const also: Arrival['also'] = function* (tx) {
      yield* tx.run('INSERT INTO listener VALUES (?)', 'also');
    };
    expect(await it.take('evt_1', { also })).toBe('first');
    expect(await it.store.all('SELECT name FROM listener')).toEqual([{ name: 'also' }]);
    await expect(it.take('evt_2', { also })).rejects.toThrow();
    await expect(it.take('evt_3', { also: cut })).rejects.toThrow('cut');
    expect([await it.kept(), await it.waiting()]).toEqual([['evt_1'], ['evt_1']]);
    // What was not kept is a first one when it is posted again.
    expect(await it.take('evt_3')).toBe('first');
  });

  test('what nobody wants is not kept, and neither is it once nobody wants it any more', async () => {
    const it = await open(await place());
    expect(await it.take('evt_1', { wanted })).toBe('absent');
    await it.store.write((tx) => tx.run('INSERT INTO listener VALUES (?)', 'me'));
    expect(await it.take('evt_2', { wanted })).toBe('first');
    expect(await it.take('evt_2', { wanted })).toBe('again');
    await it.store.write((tx) => tx.run('DELETE FROM listener'));
    expect(await it.take('evt_2', { wanted })).toBe('absent');
    expect([await it.kept(), await it.waiting()]).toEqual([['evt_2'], ['evt_2']]);
  });

  test('what it is that came before, its table says: another event changes nothing, one that nobody had is taken', async () => {
    const it = await open(await place());
    const knownAs = (seen: 'first' | 'again' | 'other'): How => ({
      at: now + 6 * day,
      *known(tx) {
        yield* tx.get('SELECT said FROM posted WHERE id = ?', 'evt');
        return seen;
      },
    });
    const seenAt = () => it.store.get('SELECT seen_at AS at FROM posted');
    await it.take('evt');
    await it.settle('evt');
    expect(await it.take('evt', knownAs('other'))).toBe('other');
    expect([await seenAt(), await it.waiting()]).toEqual([{ at: now }, []]);
    expect(await it.take('evt', knownAs('again'))).toBe('again');
    expect([await seenAt(), await it.waiting()]).toEqual([{ at: now + 6 * day }, []]);
    expect(await it.take('evt', knownAs('first'))).toBe('first');
    expect(await it.waiting()).toEqual(['evt']);
  });

  test('a receipt is kept for seven days after its event was last posted', async () => {
    const it = await open(await place());
    await it.take('evt');
    await it.settle('evt');
    for (let week = 1; week <= 2; week += 1) {
      await it.receipts.forgetOld(now + week * 6 * day);
      expect(await it.take('evt', { at: now + week * 6 * day })).toBe('again');
    }
    await it.receipts.forgetOld(now + 19 * day);
    expect(await it.kept()).toEqual(['evt']);
    await it.receipts.forgetOld(now + 19 * day + 1);
    expect(await it.kept()).toEqual([]);
    expect(await it.take('evt', { at: now + 20 * day })).toBe('first');
  });

  test('what waits in its lane is never forgotten, whatever waits elsewhere, and of the others none is left over', async () => {
    const it = await open(await place());
    const names = Array.from({ length: 450 }, (_, n) => `old ${n}`);
    await it.store.write(function* (tx) {
      for (const [n, id] of names.entries()) {
        yield* tx.run('INSERT INTO posted (id, seen_at) VALUES (?, ?)', id, now - Math.floor(n / 100));
      }
      yield* it.lanesOf('other').append(tx, { lane: 'a', id: 'old 7', body: null });
    });
    // Older than the others, so that they are looked at first.
    for (let n = 0; n < 3; n += 1) await it.take(`waits ${n}`, { at: now - 10 });
    const long = now + 100 * day;
    await it.receipts.forgetOld(long);
    expect(await it.kept()).toEqual(['waits 0', 'waits 1', 'waits 2']);
    expect(await it.take('waits 0', { at: long })).toBe('again');
    await it.settle('waits 0');
    await it.settle('waits 1');
    await it.receipts.forgetOld(long);
    expect(await it.kept()).toEqual(['waits 0', 'waits 2']);
  });
});
