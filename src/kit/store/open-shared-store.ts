/** The cloud's database: a PostgreSQL that several replicas share, or a file of only this process. */
import type { Clock } from '../clock/clock.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import { openStore } from './open-store.ts';
import { shareStore } from './share-store.ts';
import type { OpenedSharedStore } from './shared-store.ts';
import type { Migration } from './store.ts';

export async function openSharedStore(options: {
  /** Address of a PostgreSQL; null: use `file`. */
  readonly databaseUrl: string | null;
  readonly file: string;
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  /** Called when a PostgreSQL went away, and when it is back. */
  readonly tell?: (sentence: string) => void;
  /** For the file; a PostgreSQL runs each operation for its own caller. */
  readonly remember?: Telemetry['remember'];
}): Promise<OpenedSharedStore> {
  const { databaseUrl, migrations, clock } = options;
  if (databaseUrl === null) {
    const store = await openStore(options);
    return { ...shareStore(store), notices: store.notices };
  }
  // Loaded only if it is used, so that it does not slow a start on a laptop.
  const { openPostgres } = await import('./open-postgres.ts');
  return openPostgres({ url: databaseUrl, migrations, clock, tell: options.tell });
}
