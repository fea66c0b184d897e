/**
 * Reads of our own store from its file, bypassing the pages that its process keeps in memory: over a connection of its own that drops each page after
 * reading it. The operating system's cached pages are not read again. First user: the walk that compares rows with their checksums. Must not write.
 */
import Database from 'better-sqlite3';
import { runSync } from './share-store.ts';
import type { Asked, SharedReader } from './shared-store.ts';
import type { Tx } from './store.ts';

export interface DiskReader {
  /** One committed state. Throws SQLite's errors. */
  read<T>(operation: (tx: SharedReader) => Asked<T>): T;
  close(): void;
}

/** Readers wait only for a start that recovers the log. */
const busyMs = 500;

export function openDiskReader(file: string): DiskReader {
  const database = new Database(file, { readonly: true, fileMustExist: true, timeout: busyMs });
  database.pragma('cell_size_check = ON');
  const tx: Pick<Tx, 'get' | 'all'> = {
    get: <T>(sql: string, ...values: unknown[]) => database.prepare(sql).get(...values) as T | undefined,
    all: <T>(sql: string, ...values: unknown[]) => database.prepare(sql).all(...values) as T[],
  };
  const inOne = database.transaction((read: () => unknown) => read());
  return {
    read<T>(operation: (tx: SharedReader) => Asked<T>): T {
      try {
        // The reader's type lacks what a reader may not do.
        return inOne(() => runSync(tx as Tx, operation)) as T;
      } finally {
        database.pragma('shrink_memory');
      }
    },
    close: () => database.close(),
  };
}
