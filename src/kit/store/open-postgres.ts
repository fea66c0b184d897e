/** Opens a PostgreSQL database as a {@link SharedStore}: connects, migrates, listens. Composes the parts of the client. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { AppError } from '../../contracts/common/errors.ts';
import type { Clock } from '../clock/clock.ts';
import { systemTimers, type Timers } from '../clock/timers.ts';
import { createLocalWake } from '../wake/local-wake.ts';
import { createConnections, settingsOf, whereOf } from './postgres-connections.ts';
import { asAppError, notReached } from './postgres-errors.ts';
import { migratePostgres } from './postgres-migrate.ts';
import { createPostgresStore } from './postgres-store.ts';
import { createPostgresWake } from './postgres-wake.ts';
import type { OpenedSharedStore } from './shared-store.ts';
import type { Migration } from './store.ts';

interface OpenPostgresOptions {
  /** `postgres://user:password@host:port/name`. */
  readonly url: string;
  readonly migrations: readonly Migration[];
  readonly clock: Clock;
  readonly timers?: Timers;
  readonly random?: () => number;
  /** Simultaneous connections, besides the one that listens; default 10. */
  readonly connections?: number;
  /** False: no wakes from other processes; every reader polls. */
  readonly listen?: boolean;
  /** Called when the database went away, with its place and the reason, and when it is back. */
  readonly tell?: (sentence: string) => void;
  readonly onFault?: (error: unknown) => void;
}

const defaultConnections = 10;
/** Any other value would silently count as the strictest. */
const sslModes = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full', 'no-verify'];

/**
 * Fails with `usage` if the address cannot be read, `transport` if the database is away or refuses the login, `refused` if it is from a newer or
 * other Gantry.
 */
export async function openPostgres(options: OpenPostgresOptions): Promise<OpenedSharedStore> {
  const { url, timers = systemTimers, random = Math.random } = options;
  const where = checked(url);
  await migrate(options, where);
  const wake = options.listen === false ? null : createPostgresWake({ url, timers, id: randomUUID() });
  const waking = wake ?? createLocalWake(timers);
  const connections = createConnections({
    url,
    timers,
    tell: options.tell,
    max: options.connections ?? defaultConnections,
  });
  const onFault = options.onFault ?? throwLater;
  const store = createPostgresStore({ connections, timers, random, wake: waking, onFault });
  return {
    ...store,
    notices: [],
    connections: connections.load,
    async close() {
      await wake?.close();
      await store.close();
    },
  };
}

function checked(url: string): string {
  try {
    if (!/^postgres(ql)?:$/.test(new URL(url).protocol)) throw new Error('another protocol');
    const mode = new URL(url).searchParams.get('sslmode');
    if (mode !== null && !sslModes.includes(mode)) {
      const fact = `DATABASE_URL has sslmode=${mode}.`;
      throw new AppError('usage', fact, `Use one of ${sslModes.join(', ')}; verify-full is the safe one.`);
    }
    return whereOf(url);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const { code, path } = error as NodeJS.ErrnoException;
    if (path !== undefined) {
      const fact = `DATABASE_URL names a file that cannot be read: ${path} (${code}).`;
      throw new AppError('usage', fact, 'Check sslrootcert, sslcert and sslkey.');
    }
    // The text itself may hold a password.
    throw new AppError(
      'usage',
      'DATABASE_URL is not the address of a PostgreSQL database.',
      'Write postgres://user:password@host:5432/name.',
    );
  }
}

async function migrate({ url, migrations, clock }: OpenPostgresOptions, where: string): Promise<void> {
  const client = new pg.Client({ ...settingsOf(url), query_timeout: 0 });
  client.on('error', () => {});
  try {
    await client.connect();
  } catch (error) {
    throw notReached(error, where);
  }
  try {
    await migratePostgres(client, migrations, { where, now: clock.now() });
  } catch (error) {
    throw asAppError(error, where);
  } finally {
    await client.end();
  }
}

function throwLater(error: unknown): void {
  setImmediate(() => {
    throw error;
  });
}
