/** Both engines of the shared store, for suites that hold on each: `describe.each(engines)`. */
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../../src/kit/clock/clock.ts';
import { openPostgres } from '../../src/kit/store/open-postgres.ts';
import { openSharedStore } from '../../src/kit/store/open-shared-store.ts';
import type { OpenedSharedStore } from '../../src/kit/store/shared-store.ts';
import type { Migration } from '../../src/kit/store/store.ts';
import { postgres } from './postgres.ts';
import { scratchFolder } from './scratch.ts';

/** A database that can be opened again, also by several at once where the engine lets them. */
export interface Place {
  /** `listen: false`: nobody is woken from another process. */
  open(migrations: readonly Migration[], clock?: Clock, more?: { listen?: boolean }): Promise<OpenedSharedStore>;
}

export interface Engine {
  readonly name: 'sqlite' | 'postgres';
  place(): Promise<Place>;
}

function closing(store: OpenedSharedStore): OpenedSharedStore {
  onTestFinished(() => store.close());
  return store;
}

/** `cloud.db` in this folder. */
export function sqliteIn(folder: string): Place {
  const file = join(folder, 'cloud.db');
  return {
    open: async (migrations, clock = systemClock) =>
      closing(await openSharedStore({ databaseUrl: null, file, migrations, clock })),
  };
}

const sqlite: Engine = { name: 'sqlite', place: async () => sqliteIn(scratchFolder()) };

function onPostgres(server: NonNullable<typeof postgres>): Engine {
  return {
    name: 'postgres',
    async place() {
      const url = await server.schema();
      return {
        open: async (migrations, clock = systemClock, more = {}) =>
          closing(await openPostgres({ url, migrations, clock, connections: 4, ...more })),
      };
    },
  };
}

/** PostgreSQL is missing where it cannot run. */
export const engines: readonly Engine[] = [sqlite, ...(postgres === null ? [] : [onPostgres(postgres)])];
