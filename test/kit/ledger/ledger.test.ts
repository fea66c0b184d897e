/** What the ledger promises: order, once per key, replay from a cursor, and that every tampering has a name. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import * as fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { canonicalJson } from '../../../src/kit/ledger/canonical.ts';
import { rowHash, type StoredRow } from '../../../src/kit/ledger/chain.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import type { LedgerEntry } from '../../../src/kit/ledger/ledger.ts';
import { ledgerMigrations } from '../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { createTestClock } from '../../support/test-clock.ts';

async function open(file = join(scratchFolder(), 'x.db')) {
  const clock = createTestClock();
  const store = await openStore({ file, migrations: ledgerMigrations, clock });
  onTestFinished(() => store.close());
  const ledger = await createLedger({ store, clock, ids: createIds(clock) });
  const add = (entry: Partial<LedgerEntry> = {}) => store.write((tx) => ledger.append(tx, { ...sample, ...entry }));
  return { file, clock, store, ledger, add };
}

const sample: LedgerEntry = {
  type: 'delivery',
  actor: 'user_local',
  surface: 'cli',
  subject: 'delivery:d1',
  body: { v: 1, state: 'accepted' },
};

/** Edits the file behind the ledger's back, as somebody with a SQLite shell would. */
function tamper(file: string, edit: (database: Database.Database) => void): void {
  const database = new Database(file);
  const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").pluck().all() as string[];
  for (const name of triggers) database.exec(`DROP TRIGGER ${name}`);
  edit(database);
  database.close();
}

test('ids are integers from 1 in the order of the commits, and survive a restart', async () => {
  const { file, store, ledger, add } = await open();
  expect(await ledger.head()).toBe('0');
  const [one, two] = await Promise.all([add(), add()]);
  expect([one.id, two.id]).toEqual(['1', '2']);
  expect(one.at).toBe('2026-01-02T03:04:05.000Z');
  await store.close();
  const again = await open(file);
  expect(again.ledger.engineId).toBe(ledger.engineId);
  expect((await again.add()).id).toBe('3');
  expect(await again.ledger.verify()).toMatchObject({ ok: true, rows: 4, head: { id: '3' } });
});

test('the engine id is a prefixed ULID of its own for every ledger', async () => {
  const { ledger } = await open();
  expect(ledger.engineId).toMatch(/^engine_[0-9A-HJKMNP-TV-Z]{26}$/);
  expect((await open()).ledger.engineId).not.toBe(ledger.engineId);
});

test('an operation that is undone leaves no row and no hole', async () => {
  const { store, ledger, add } = await open();
  const undone = store.write((tx) => {
    ledger.append(tx, sample);
    throw new Error('no');
  });
  const [, failed] = await Promise.allSettled([add(), undone, add()]);
  expect(failed?.status).toBe('rejected');
  expect((await ledger.read('0', 10)).map((row) => row.id)).toEqual(['1', '2']);
  expect(await ledger.verify()).toMatchObject({ ok: true });
});

test('a second append with a key answers the first row, whatever its body', async () => {
  const { ledger, add, clock } = await open();
  const first = await add({ idemKey: 'k1' });
  clock.jump(5000);
  const [second, third] = await Promise.all([
    add({ idemKey: 'k1', body: { v: 1, other: true } }),
    add({ idemKey: 'k2' }),
  ]);
  expect(second).toEqual(first);
  expect(third.id).toBe('2');
  expect(await ledger.head()).toBe('2');
});

test('a replay returns what follows the cursor, filtered by type, in order', async () => {
  const { ledger, add } = await open();
  for (let index = 1; index <= 9; index += 1) await add({ type: ['a', 'b', 'c'][index % 3] as string });
  const ids = async (after: string, limit: number, types?: string[]) =>
    (await ledger.read(after, limit, types)).map((row) => row.id);
  expect(await ids('0', 4)).toEqual(['1', '2', '3', '4']);
  expect(await ids('7', 100)).toEqual(['8', '9']);
  expect(await ids('1', 3, ['a', 'b'])).toEqual(['3', '4', '6']);
  expect(await ids('0', 100, ['none'])).toEqual([]);
  expect(await ids('0', 100, [])).toEqual([]);
});

test('a search with several filters answers what each row says, from either end, page by page', async () => {
  const { store, ledger } = await open();
  const rows = 12_000;
  // Two thirds of the rows are of one actor; what the filters have in common is sparse, and beyond the first portion from both ends.
  const entries = Array.from({ length: rows }, (_, index) => ({
    ...sample,
    type: index % 2 === 0 ? 'delivery' : 'message',
    actor: index % 3 === 0 ? 'user_local' : 'engine',
    subject: `thread:${index % 1000 === 7 ? 'rare' : index % 4}`,
  }));
  await store.write((tx) => {
    for (const entry of entries) ledger.append(tx, entry);
  });
  const all = entries.map((entry, index) => ({ ...entry, id: String(index + 1) }));
  const searches = [
    { types: ['message'], actor: 'engine' },
    { types: ['message', 'delivery'], actor: 'user_local' },
    { types: ['message'], subject: 'thread:rare' },
    { types: ['message'], subject: 'thread:rare', actor: 'engine' },
    { subject: 'thread:0', actor: 'user_local' },
    { types: ['message', 'message'] },
    { types: ['none', 'message'], subject: 'thread:0' },
    { types: [], actor: 'engine' },
  ];
  for (const { types, subject, actor } of searches) {
    const wanted = all.filter(
      (row) =>
        (types === undefined || types.includes(row.type)) &&
        (subject === undefined || row.subject === subject) &&
        (actor === undefined || row.actor === actor),
    );
    for (const order of ['ascending', 'descending'] as const) {
      const ids = (order === 'ascending' ? wanted : wanted.toReversed()).map(({ id }) => id);
      for (const limit of [3, rows]) {
        const [, second] = ids;
        const past = order === 'ascending' ? { after: second } : { before: second };
        const page = async (bounds: object) =>
          (await ledger.query({ types, subject, actor, order, limit, ...bounds })).map(({ id }) => id);
        expect(await page({})).toEqual(ids.slice(0, limit));
        if (second !== undefined) expect(await page(past)).toEqual(ids.slice(2, 2 + limit));
      }
    }
  }
});

test('a search that finds nothing among very many rows holds nobody else, and reads none where a filter has none', async () => {
  const { store, ledger } = await open();
  await store.write((tx) => {
    for (let left = 20_000; left > 0; left -= 1) {
      const isOdd = left % 2 === 1;
      ledger.append(tx, { ...sample, type: isOdd ? 'message' : 'delivery', actor: isOdd ? 'engine' : 'user_local' });
    }
  });
  /** How often others had a turn meanwhile. */
  async function turnsOf(filters: { types: string[]; actor: string }): Promise<number> {
    let turns = 0;
    let isOver = false;
    const tick = () => {
      if (isOver) return;
      turns += 1;
      setImmediate(tick);
    };
    setImmediate(tick);
    expect(await ledger.query({ ...filters, order: 'descending', limit: 50 })).toEqual([]);
    isOver = true;
    return turns;
  }
  expect(await turnsOf({ types: ['delivery'], actor: 'engine' })).toBeGreaterThanOrEqual(2);
  expect(await turnsOf({ types: ['none'], actor: 'engine' })).toBeLessThan(2);
});

test('a row comes back as it was appended', async () => {
  const { ledger, add } = await open();
  const body = { v: 1, z: [1, 'ü', null], a: { nested: true }, gone: undefined };
  await add({ idemKey: 'k', body });
  const [row] = await ledger.read('0', 1);
  expect(row).toMatchObject({
    ...sample,
    id: '1',
    idemKey: 'k',
    body: { v: 1, z: [1, 'ü', null], a: { nested: true } },
  });
});

test('a cursor is known only when its row is here', async () => {
  const { ledger, add } = await open();
  await add();
  const known = await Promise.all(
    ['0', '1', '2', '-1', '01', '1.5', 'engine_x~apr-1', '', '9'.repeat(30)].map(ledger.knows),
  );
  expect(known).toEqual([true, true, false, false, false, false, false, false, false]);
  await expect(ledger.read('x', 1)).rejects.toMatchObject({ code: 'usage' });
});

test('listeners hear once a durable group, with its head, and not of what was undone', async () => {
  const { store, ledger, add } = await open();
  const heads: string[] = [];
  const stop = ledger.onAppend((head) => heads.push(head));
  const undone = store.write((tx) => {
    ledger.append(tx, sample);
    throw new Error('no');
  });
  await Promise.allSettled([add(), undone, add()]);
  await add();
  await undone.catch(() => {});
  expect(heads).toEqual(['2', '3']);
  stop();
  await add();
  expect(heads).toHaveLength(2);
});

test('rows can be neither changed nor deleted, nor put anywhere but at the end', async () => {
  const { store, ledger, add } = await open();
  await add();
  for (const sql of [
    'UPDATE ledger SET actor = actor',
    'DELETE FROM ledger',
    'INSERT OR REPLACE INTO ledger SELECT * FROM ledger WHERE seq = 1',
    'INSERT INTO ledger SELECT 9, at, actor, surface, type, subject, NULL, body, prev_hash, hash FROM ledger WHERE seq = 1',
  ]) {
    await expect(store.write((tx) => tx.run(sql))).rejects.toThrow(/append-only|only grows/);
  }
  expect(await ledger.verify()).toMatchObject({ ok: true, rows: 2 });
});

test('a field with a line break cannot enter the chain', async () => {
  const { add } = await open();
  await expect(add({ actor: 'a\nb' })).rejects.toThrow('control character');
  await expect(add({ idemKey: '' })).rejects.toThrow('empty');
  await expect(add({ body: { v: Number.NaN } })).rejects.toThrow('JSON');
});

const fields = ['at', 'actor', 'surface', 'type', 'subject', 'idem_key', 'body', 'prev_hash', 'hash'] as const;

test.each(fields)('a row whose %s was changed is named', async (field) => {
  const { file, ledger, add } = await open();
  for (let index = 0; index < 5; index += 1) await add();
  const value = field === 'at' ? 1 : field === 'body' ? '{"v":2}' : 'f'.repeat(64);
  tamper(file, (database) => database.prepare(`UPDATE ledger SET ${field} = ? WHERE seq = 3`).run(value));
  expect(await ledger.verify()).toMatchObject({ ok: false, problem: 'changed', id: '3' });
});

test('a row that was removed is named: the first, one between, the last, and the end of many', async () => {
  for (const [gone, named] of [
    ['seq = 0', '0'],
    ['seq = 3', '3'],
    ['seq = 5', '5'],
    ['seq >= 4', '4'],
  ] as const) {
    const { file, ledger, add } = await open();
    for (let index = 0; index < 5; index += 1) await add();
    tamper(file, (database) => database.exec(`DELETE FROM ledger WHERE ${gone}`));
    expect(await ledger.verify()).toMatchObject({ ok: false, problem: 'removed', id: named });
  }
});

/** Renumbers later rows to make room and puts a row with a sound hash of its own between. */
function insertAt(database: Database.Database, seq: number): void {
  const at = (n: number) => database.prepare('SELECT * FROM ledger WHERE seq = ?').get(n) as StoredRow;
  const before = at(seq - 1);
  database.exec(`UPDATE ledger SET seq = -seq WHERE seq >= ${seq}; UPDATE ledger SET seq = 1 - seq WHERE seq < 0`);
  const row = { ...before, seq, actor: 'mallory', prev_hash: before.hash };
  const values = { ...row, hash: rowHash(row) };
  database
    .prepare('INSERT INTO ledger VALUES (@seq, @at, @actor, @surface, @type, @subject, NULL, @body, @prev_hash, @hash)')
    .run(values);
}

test('a row put between others is named, even with a sound hash of its own', async () => {
  const { file, ledger, add } = await open();
  for (let index = 0; index < 5; index += 1) await add();
  tamper(file, (database) => insertAt(database, 3));
  expect(await ledger.verify()).toMatchObject({ ok: false, problem: 'inserted', id: '3' });
});

test('a row put before the first is named', async () => {
  const { file, ledger, add } = await open();
  await add();
  tamper(file, (database) =>
    database.exec(
      'INSERT INTO ledger SELECT -5, at, actor, surface, type, subject, NULL, body, prev_hash, hash FROM ledger WHERE seq = 1',
    ),
  );
  expect(await ledger.verify()).toMatchObject({ ok: false, problem: 'inserted', id: '-5' });
});

test('a check over more rows than one batch finds a change in any of them', async () => {
  const { file, store, ledger } = await open();
  await store.write((tx) => {
    for (let index = 0; index < 4100; index += 1) ledger.append(tx, sample);
  });
  const told: [number, number][] = [];
  expect(await ledger.verify((done, total) => told.push([done, total]))).toMatchObject({ ok: true, rows: 4101 });
  // How far it is, after each batch but the last.
  expect(told.at(0)).toEqual([200, 4101]);
  expect(told.at(-1)).toEqual([4000, 4101]);
  for (const seq of [1999, 2000, 2001, 4000, 4100]) {
    const original = new Database(file, { readonly: true });
    const body = original.prepare('SELECT body FROM ledger WHERE seq = ?').pluck().get(seq);
    original.close();
    tamper(file, (database) => database.prepare(`UPDATE ledger SET body = '{"v":9}' WHERE seq = ?`).run(seq));
    expect(await ledger.verify()).toMatchObject({ ok: false, problem: 'changed', id: String(seq) });
    tamper(file, (database) => database.prepare('UPDATE ledger SET body = ? WHERE seq = ?').run(body, seq));
  }
  expect(await ledger.verify()).toMatchObject({ ok: true });
});

test('equal JSON values have one canonical text, different ones never', () => {
  const shuffled = (value: unknown): unknown =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.fromEntries(
          Object.entries(value)
            .reverse()
            .map(([key, member]) => [key, shuffled(member)]),
        )
      : value;
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const text = canonicalJson(value);
      expect(canonicalJson(shuffled(value))).toBe(text);
      expect(canonicalJson(JSON.parse(text))).toBe(text);
      expect(text).not.toContain('\n');
      expect(JSON.parse(text)).toEqual(JSON.parse(JSON.stringify(value)));
    }),
  );
});
