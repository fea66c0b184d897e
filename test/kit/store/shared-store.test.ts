/** What a shared store promises, the same on both engines. Real SQLite files, a real PostgreSQL. */
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { Op, SharedReader, SharedStore, SharedTx } from '../../../src/kit/store/shared-store.ts';
import type { Migration } from '../../../src/kit/store/store.ts';
import { engines } from '../../support/engines.ts';

const migrations: Migration[] = [
  {
    number: 1,
    name: 'notes',
    sql: `
      CREATE TABLE note (
        id INTEGER PRIMARY KEY,
        text TEXT NOT NULL UNIQUE,
        bytes BLOB,
        size INTEGER NOT NULL DEFAULT 0 CHECK (size >= 0)
      ) STRICT;
      CREATE TABLE tally (name TEXT PRIMARY KEY, n INTEGER NOT NULL) STRICT, WITHOUT ROWID;
      CREATE INDEX note_size ON note (size) WHERE size > 0;
    `,
  },
];

describe.each(engines)('on $name', ({ name, place }) => {
  const open = async () => (await place()).open(migrations);

  const add = (store: SharedStore, id: number, text: string) =>
    store.write(function* (tx) {
      return yield* tx.run('INSERT INTO note (id, text) VALUES (?, ?)', id, text);
    });
  const texts = async (store: SharedStore) =>
    (await store.all<{ text: string }>('SELECT text FROM note ORDER BY id')).map(({ text }) => text);

  test('what an operation wrote and read is kept and answered', async () => {
    const store = await open();
    expect(store.engine).toBe(name);
    const answer = await store.write(function* (tx) {
      const { changes } = yield* tx.run("INSERT INTO note (id, text) VALUES (1, 'a?'), (2, ?)", 'b');
      const row = yield* tx.get<{ text: string }>("SELECT text FROM note WHERE text = 'a?' AND id = ?", 1);
      const none = yield* tx.get('SELECT 1 AS x FROM note WHERE id = ?', 7);
      return { changes, row, none };
    });
    expect(answer).toEqual({ changes: 2, row: { text: 'a?' }, none: undefined });
    expect(await texts(store)).toEqual(['a?', 'b']);
    expect(await store.get('SELECT id FROM note WHERE text = ?', 'b')).toEqual({ id: 2 });
    expect(await store.get('SELECT id FROM note WHERE text = ?', 'c')).toBeUndefined();
  });

  test('values come back as they went in: large numbers, nothing, bytes, sums, truth', async () => {
    const store = await open();
    const bytes = new Uint8Array([0, 1, 254, 255]);
    await store.write(function* (tx) {
      yield* tx.run(
        'INSERT INTO note (id, text, bytes, size) VALUES (?, ?, ?, ?)',
        2 ** 52,
        'é\n漢',
        bytes,
        1_800_000_000_000,
      );
      yield* tx.run('INSERT INTO note (id, text, bytes, size) VALUES (?, ?, ?, ?)', 2, "o'b?", null, 5);
    });
    const rows = await store.all<{ id: number; text: string; bytes: Buffer | null; size: number }>(
      'SELECT * FROM note ORDER BY id',
    );
    expect(rows.map(({ bytes: held, ...row }) => ({ ...row, bytes: held === null ? null : [...held] }))).toEqual([
      { id: 2, text: "o'b?", bytes: null, size: 5 },
      { id: 2 ** 52, text: 'é\n漢', bytes: [0, 1, 254, 255], size: 1_800_000_000_000 },
    ]);
    expect(await store.get('SELECT sum(size) AS total, count(*) AS n, min(id) = 2 AS low FROM note')).toEqual({
      total: 1_800_000_000_005,
      n: 2,
      low: 1,
    });
  });

  test('texts stand in the order of their bytes', async () => {
    const store = await open();
    const words = ['a', 'B', '_', 'ab', 'A', 'é', 'z', '-', '1'];
    for (const [id, word] of words.entries()) await add(store, id, word);
    const ordered = await store.all<{ text: string }>('SELECT text FROM note ORDER BY text');
    expect(ordered.map(({ text }) => text)).toEqual(
      [...words].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
    );
    const after = await store.all<{ text: string }>("SELECT text FROM note WHERE text > 'Z' ORDER BY text");
    expect(after.map(({ text }) => text)).toEqual(['_', 'a', 'ab', 'z', 'é']);
  });

  test('an operation that throws leaves nothing, and neither do its effects', async () => {
    const store = await open();
    const effects: string[] = [];
    const refused = new AppError('refused', 'No.', 'Ask again.');
    const failing = store.write(function* (tx) {
      tx.afterCommit(() => effects.push('half'));
      yield* tx.run("INSERT INTO note (id, text) VALUES (1, 'half')");
      throw refused;
    });
    const whole = store.write(function* (tx) {
      tx.afterCommit(() => effects.push('whole'));
      yield* tx.run("INSERT INTO note (id, text) VALUES (2, 'whole')");
    });
    await expect(failing).rejects.toBe(refused);
    await whole;
    expect(effects).toEqual(['whole']);
    expect(await texts(store)).toEqual(['whole']);
  });

  test('an operation that goes on after a failed statement is undone all the same', async () => {
    const store = await open();
    await add(store, 1, 'taken');
    let cleaned = false;
    const going = store.write(function* (tx) {
      yield* tx.run("INSERT INTO note (id, text) VALUES (2, 'before')");
      try {
        yield* tx.run("INSERT INTO note (id, text) VALUES (3, 'taken')");
      } catch {
        cleaned = true;
      }
      return 'fine';
    });
    await expect(going).rejects.toThrow(/unique/i);
    expect(cleaned).toBe(true);
    expect(await texts(store)).toEqual(['taken']);
  });

  test('a statement that is made and not asked is a fault, and nothing is kept', async () => {
    const store = await open();
    const forgetful = store.write(function* (tx) {
      yield* tx.run("INSERT INTO note (id, text) VALUES (1, 'asked')");
      tx.run("INSERT INTO note (id, text) VALUES (2, 'forgotten')");
    });
    await expect(forgetful).rejects.toThrow('not asked');
    expect(await texts(store)).toEqual([]);
  });

  test('an operation of one statement asks no second one', async () => {
    const store = await open();
    const one = (id: number) =>
      store.write(
        function* (tx) {
          return yield* tx.all('INSERT INTO note (id, text) VALUES (?, ?) RETURNING id', id, `n${id}`);
        },
        { isolation: 'statement' },
      );
    expect(await one(1)).toEqual([{ id: 1 }]);
    const two = store.write(
      function* (tx) {
        yield* tx.run("INSERT INTO note (id, text) VALUES (2, 'first')");
        yield* tx.run("INSERT INTO note (id, text) VALUES (3, 'second')");
      },
      { isolation: 'statement' },
    );
    await expect(two).rejects.toThrow('one statement');
    expect(await texts(store)).not.toContain('second');
  });

  test('of operations of one statement that come together, the one that fails undoes itself whole, and no other', async () => {
    const store = await open();
    await add(store, 9, 'there');
    const told: number[] = [];
    const both = (id: number, text: string) =>
      store.write(
        function* (tx) {
          tx.afterCommit(() => told.push(id));
          return yield* tx.run('INSERT INTO note (id, text) VALUES (?, ?), (?, ?)', id, `n${id}`, id + 1, text);
        },
        { isolation: 'statement' },
      );
    const ends = await Promise.allSettled([both(1, 'b'), both(3, 'there'), both(5, 'f')]);
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(await texts(store)).toEqual(['n1', 'b', 'n5', 'f', 'there']);
    // Each of a group that failed is asked again alone, at the same time as the others.
    expect(told.sort((a, b) => a - b)).toEqual([1, 5]);
  });

  test('operations that read before they write count as if one came after the other', async () => {
    const store = await open();
    await store.write(function* (tx) {
      yield* tx.run("INSERT INTO tally (name, n) VALUES ('x', 0)");
    });
    function* current(tx: SharedReader): Op<number> {
      return (yield* tx.get<{ n: number }>("SELECT n FROM tally WHERE name = 'x'"))!.n;
    }
    const up = function* (tx: SharedTx): Op<number> {
      const n = (yield* current(tx)) + 1;
      yield* tx.run("UPDATE tally SET n = ? WHERE name = 'x'", n);
      return n;
    };
    const answers = await Promise.all(Array.from({ length: 25 }, () => store.write(up)));
    expect([...answers].sort((a, b) => a - b)).toEqual(Array.from({ length: 25 }, (_, index) => index + 1));
    expect(await store.read(current)).toBe(25);
  });

  test('of two operations that each look before they take the last place, one gets it', async () => {
    const store = await open();
    const enter = (id: number) =>
      store.write(function* (tx) {
        const { n } = (yield* tx.get<{ n: number }>('SELECT count(*) AS n FROM note'))!;
        if (n >= 3) return false;
        yield* tx.run('INSERT INTO note (id, text) VALUES (?, ?)', id, `guest ${id}`);
        return true;
      });
    const entered = await Promise.all(Array.from({ length: 12 }, (_, id) => enter(id)));
    expect(entered.filter(Boolean)).toHaveLength(3);
    expect(await texts(store)).toHaveLength(3);
  });

  test('a read sees one state, however many statements it asks', async () => {
    const store = await open();
    const both = (n: number) =>
      store.write(function* (tx) {
        for (const which of ['a', 'b']) {
          const sql = 'INSERT INTO tally (name, n) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET n = excluded.n';
          yield* tx.run(sql, which, n);
        }
      });
    await both(0);
    const looks: Promise<number[]>[] = [];
    for (let n = 1; n <= 20; n += 1) {
      void both(n);
      looks.push(
        store.read(function* (tx) {
          const seen: number[] = [];
          for (const which of ['a', 'b']) {
            seen.push((yield* tx.get<{ n: number }>('SELECT n FROM tally WHERE name = ?', which))!.n);
          }
          return seen;
        }),
      );
    }
    for (const [a, b] of await Promise.all(looks)) expect(a).toBe(b);
  });

  test('a text of one engine alone is taken there', async () => {
    const store = await open();
    const row = await store.get<{ engine: string }>(
      {
        sqlite: "SELECT 'sqlite' AS engine WHERE sqlite_version() > ?",
        postgres: "SELECT 'postgres' AS engine WHERE version() > ?",
      },
      '0',
    );
    expect(row?.engine).toBe(name);
  });

  test('after the store is closed, everything is refused', async () => {
    const store = await open();
    const last = add(store, 1, 'last');
    await store.close();
    await expect(last).resolves.toEqual({ changes: 1 });
    await expect(add(store, 2, 'late')).rejects.toMatchObject({ code: 'transport' });
  });

  test('who waits for a topic is woken by a signal of it, by its end, or by nothing for long enough', async () => {
    const { wake } = await open();
    const woken: string[] = [];
    const off = wake.on('a', () => woken.push('a'));
    const waiting = wake.wait('a', 60_000);
    wake.signal('b');
    wake.signal('a');
    wake.signal('a');
    await waiting;
    expect(woken).toEqual(['a']);
    off();
    wake.signal('a');
    await wake.wait('a', 30);
    expect(woken).toEqual(['a']);
    const abort = new AbortController();
    const aborted = wake.wait('c', 60_000, abort.signal);
    abort.abort();
    await aborted;
  });
});
