/**
 * Reads of a store of ours as its file has it, past the pages that its process keeps in memory: over a connection of its own that forgets
 * each page once it was read. What the operating system still has of the file in memory is not read anew. First user: the walk that
 * compares rows with their checksums. Must not write.
 */
import Database from 'better-sqlite3';
import { runSync } from './share-store.ts';
import type { Asked, SharedReader } from './shared-store.ts';
import type { Tx } from './store.ts';

export interface DiskReader {
  /** One committed state. Throws what SQLite throws. */
  read<T>(operation: (tx: SharedReader) => Asked<T>): T;
  close(): void;
}

/** Readers wait for nobody but a start that mends the log. */
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
        // What a reader may not do, its type does not have.
        return inOne(() => runSync(tx as Tx, operation)) as T;
      } finally {
        database.pragma('shrink_memory');
      }
    },
    close: () => database.close(),
  };
}
