/** What a store promises about its write groups. Real SQLite files. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createStatements } from '../../../src/kit/store/statements.ts';
import type { Migration } from '../../../src/kit/store/store.ts';
import { scratchFolder } from '../../support/scratch.ts';

const migrations: Migration[] = [
  { number: 1, name: 'notes', sql: 'CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE) STRICT' },
];

async function openNotes() {
  const file = join(scratchFolder(), 'notes.db');
  const store = await openStore({ file, migrations, clock: systemClock });
  onTestFinished(() => store.close());
  const add = (text: string) => store.write((tx) => tx.run('INSERT INTO note (text) VALUES (?)', text));
  const texts = () =>
    store.read((tx) => tx.all<{ text: string }>('SELECT text FROM note ORDER BY id').map((row) => row.text));
  return { file, store, add, texts };
}

/** Commits counted from outside: SQLite raises the file change counter of the shared log once a commit. */
function commits(file: string): () => number {
  const watcher = new Database(file);
  onTestFinished(() => {
    watcher.close();
  });
  let seen = 0;
  let version = watcher.pragma('data_version', { simple: true });
  return () => {
    const now = watcher.pragma('data_version', { simple: true });
    if (now !== version) seen += 1;
    version = now;
    return seen;
  };
}

test('operations of one loop turn share one commit', async () => {
  const { file, store, add, texts } = await openNotes();
  const count = commits(file);
  const during: number[] = [];
  await Promise.all([
    add('a'),
    store.write((tx) => {
      tx.run("INSERT INTO note (text) VALUES ('b')");
      during.push(count());
    }),
    add('c'),
  ]);
  expect(during).toEqual([0]);
  expect(count()).toBe(1);
  expect(await texts()).toEqual(['a', 'b', 'c']);
});

test('an operation that throws is undone alone, and its group is kept', async () => {
  const { store, add, texts } = await openNotes();
  const failing = store.write((tx) => {
    tx.run("INSERT INTO note (text) VALUES ('half')");
    throw new Error('no');
  });
  const results = await Promise.allSettled([add('a'), failing, add('a'), add('b')]);
  expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'rejected', 'fulfilled']);
  expect(await texts()).toEqual(['a', 'b']);
});

test('an operation alone in its group is undone when it throws', async () => {
  const { store, texts } = await openNotes();
  await expect(
    store.write((tx) => {
      tx.run("INSERT INTO note (text) VALUES ('half')");
      throw new Error('no');
    }),
  ).rejects.toThrow('no');
  expect(await texts()).toEqual([]);
});

test('effects run after the commit, in order, and never for an operation that was undone', async () => {
  const { file, store } = await openNotes();
  const reader = new Database(file, { readonly: true });
  onTestFinished(() => {
    reader.close();
  });
  const committed = () => reader.prepare('SELECT count(*) FROM note').pluck().get();
  const seen: unknown[] = [];
  const effect = (name: string, fail: boolean) =>
    store.write((tx) => {
      tx.run('INSERT INTO note (text) VALUES (?)', name);
      tx.afterCommit(() => seen.push([name, committed()]));
      if (fail) throw new Error('no');
    });
  await Promise.allSettled([effect('a', false), effect('b', true), effect('c', false)]);
  expect(seen).toEqual([
    ['a', 2],
    ['c', 2],
  ]);
});

test('an effect that throws reaches the fault handler and hides no other effect', async () => {
  const faults: unknown[] = [];
  const file = join(scratchFolder(), 'x.db');
  const store = await openStore({ file, migrations, clock: systemClock, onFault: (error) => faults.push(error) });
  const seen: string[] = [];
  await store.write((tx) => {
    tx.afterCommit(() => {
      throw new Error('effect');
    });
    tx.afterCommit(() => seen.push('second'));
  });
  expect(faults).toHaveLength(1);
  expect(seen).toEqual(['second']);
  await store.close();
});

test('an operation that awaits is refused and undone', async () => {
  const { store, texts } = await openNotes();
  await expect(
    store.write(async (tx) => {
      tx.run("INSERT INTO note (text) VALUES ('late')");
    }),
  ).rejects.toThrow('nothing may be awaited');
  expect(await texts()).toEqual([]);
});

test('a transaction that outlives its operation cannot be used', async () => {
  const { store } = await openNotes();
  let kept: { run(sql: string): unknown } | undefined;
  await store.write((tx) => {
    kept = tx;
  });
  expect(() => kept?.run("INSERT INTO note (text) VALUES ('late')")).toThrow('after its operation');
});

test('a read cannot write', async () => {
  const { store, texts } = await openNotes();
  await expect(store.read((tx) => tx.get("INSERT INTO note (text) VALUES ('x') RETURNING id"))).rejects.toThrow(
    'may not write',
  );
  expect(await texts()).toEqual([]);
});

test('a write waits for another program that holds the lock, without blocking the loop', async () => {
  const { file, add, texts } = await openNotes();
  const other = new Database(file);
  onTestFinished(() => {
    other.close();
  });
  other.exec('BEGIN IMMEDIATE');
  let turns = 0;
  const ticking = setInterval(() => {
    turns += 1;
    if (turns === 5) other.exec('ROLLBACK');
  }, 20);
  await add('after the lock');
  clearInterval(ticking);
  expect(turns).toBeGreaterThanOrEqual(5);
  expect(await texts()).toEqual(['after the lock']);
});

test('close commits what is queued and refuses what comes later', async () => {
  const { file, store, add } = await openNotes();
  const queued = add('queued');
  await store.close();
  await queued;
  await expect(add('late')).rejects.toMatchObject({ code: 'transport' });
  const reader = new Database(file, { readonly: true });
  expect(reader.prepare('SELECT text FROM note').pluck().all()).toEqual(['queued']);
  reader.close();
});

test('the file is private, in WAL, with every commit flushed', async () => {
  const { file, store } = await openNotes();
  const { statSync } = await import('node:fs');
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const pragma = (name: string) => store.write((tx) => Object.values(tx.get(`PRAGMA ${name}`) ?? {})[0]);
  expect(await pragma('journal_mode')).toBe('wal');
  expect(await pragma('synchronous')).toBe(2);
  expect(await pragma('foreign_keys')).toBe(1);
  expect(await pragma('trusted_schema')).toBe(0);
});

test('a statement found through a partial index is planned once, whatever it is asked with', async () => {
  const database = new Database(':memory:');
  onTestFinished(() => {
    database.close();
  });
  database.exec(`CREATE TABLE task (id INTEGER PRIMARY KEY, owner TEXT, state TEXT) STRICT;
    CREATE INDEX task_ready ON task (owner, id) WHERE state = 'ready';
    CREATE TABLE store_meta (key TEXT PRIMARY KEY, value ANY) STRICT;
    INSERT INTO task VALUES (1, 'ada', 'ready'), (2, 'bob', 'ready'), (3, 'ada', 'what = ?')`);
  // A statement that is planned anew makes its rows anew: the library then compiles how they are built.
  const compile = vi.spyOn(globalThis, 'Function');
  onTestFinished(() => compile.mockRestore());
  const sql = `SELECT id FROM task WHERE owner = ? AND state = 'ready' ORDER BY id LIMIT 1`;
  const plain = database.prepare(sql);
  for (const owner of ['ada', 'bob', 'ada']) plain.get(owner);
  expect(compile.mock.calls.length, 'what the library does by itself').toBe(3);
  compile.mockClear();
  const statements = createStatements(database);
  expect(['ada', 'bob', 'ada'].map((owner) => statements.get(sql).get(owner))).toEqual([
    { id: 1 },
    { id: 2 },
    { id: 1 },
  ]);
  expect(compile.mock.calls.length).toBe(1);
  expect(statements.get(`SELECT id FROM task WHERE state = 'what = ?' AND id >=? AND 3 <> ?`).get(3, 4)).toEqual({
    id: 3,
  });
});
