/** What a described table promises, the same on both engines. Real SQLite files, a real PostgreSQL. */
import { describe, expect, test } from 'vitest';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import type { Migration } from '../../../src/kit/store/store.ts';
import { flag, integer, json, nullable, type RowOf, table, text, time, word } from '../../../src/kit/store/table.ts';
import { engines } from '../../support/engines.ts';

const migrations: Migration[] = [
  {
    number: 1,
    name: 'parcels',
    sql: `CREATE TABLE parcel (
      secret TEXT NOT NULL, sent_at INTEGER, labels TEXT NOT NULL, place INTEGER NOT NULL, id TEXT PRIMARY KEY,
      fragile INTEGER NOT NULL, state TEXT NOT NULL
    ) STRICT`,
  },
];

const parcels = table('parcel', {
  id: text,
  state: word<'packed' | 'sent'>(),
  place: integer,
  fragile: flag,
  labels: json<string[]>(),
  sentAt: nullable(time),
  secret: text,
});
type Parcel = RowOf<typeof parcels>;

const parcel: Parcel = {
  id: 'p1',
  state: 'packed',
  place: 1,
  fragile: 1,
  labels: '["up"]',
  sentAt: null,
  secret: 'x',
};
const later: Parcel = { ...parcel, id: 'p2', fragile: 0, sentAt: 1_700_000_000_000 };

describe.each(engines)('on $name', ({ place }) => {
  const add = (store: SharedStore, insert: ReturnType<typeof parcels.insert>, row: Parcel) =>
    store.write((tx) => tx.run(insert.sql, ...insert.values(row)));
  const all = (store: SharedStore) => store.all<Parcel>(`SELECT ${parcels.columns} FROM parcel ORDER BY id`);

  test('a row comes back as it was inserted, whatever the order of the columns', async () => {
    const store = await (await place()).open(migrations);
    const insert = parcels.insert();
    await add(store, insert, parcel);
    await add(store, insert, later);
    expect(await all(store)).toEqual([parcel, later]);
  });

  test('an insert may compute a value from those of other columns, and say what happens to a row that exists', async () => {
    const store = await (await place()).open(migrations);
    const next = '(SELECT COALESCE(max(place), :place) + 1 FROM parcel WHERE state = :state)';
    const insert = parcels.insert('ON CONFLICT (id) DO UPDATE SET state = excluded.state', { place: next });
    await add(store, insert, parcel);
    await add(store, insert, later);
    await add(store, insert, { ...parcel, state: 'sent', secret: 'y' });
    expect(await all(store)).toEqual([
      { ...parcel, place: 2, state: 'sent' },
      { ...later, place: 3 },
    ]);
  });
});

test('over the wire goes what the contract names, in its form: times, truths and values instead of numbers and texts', () => {
  const sent = parcels.wire({ sentAt: null, fragile: null, labels: null, id: null, weight: null });
  expect(sent(later)).toEqual({ sentAt: '2023-11-14T22:13:20.000Z', fragile: false, labels: ['up'], id: 'p2' });
  expect(sent(parcel)).toEqual({ sentAt: null, fragile: true, labels: ['up'], id: 'p1' });
});
