/** The cloud's database: a PostgreSQL that several replicas share, or a file of this process alone. */
import type { Clock } from '../clock/clock.ts';
import { openStore } from './open-store.ts';
import { shareStore } from './share-store.ts';
import type { OpenedSharedStore } from './shared-store.ts';
import type { Migration } from './store.ts';

export interface OpenSharedStoreOptions {
  /** A PostgreSQL; null: `file`. */
  readonly databaseUrl: string | null;
  readonly file: string;
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  /** Hears that a PostgreSQL went away, and that it is back. */
  readonly tell?: (sentence: string) => void;
}

export async function openSharedStore(options: OpenSharedStoreOptions): Promise<OpenedSharedStore> {
  const { databaseUrl, migrations, clock } = options;
  if (databaseUrl === null) {
    const store = await openStore(options);
    return { ...shareStore(store), notices: store.notices };
  }
  // Loaded only where it is used: a start on a laptop pays nothing for it.
  const { openPostgres } = await import('./open-postgres.ts');
  return openPostgres({ url: databaseUrl, migrations, clock, tell: options.tell });
}
