/**
 * Connections to one PostgreSQL: a limited number, each lent to one user at a time, and whether the database can be reached. While it is away,
 * callers get an error at once; it is probed until it is back. Must not know transactions.
 */
import pg from 'pg';
import { AppError } from '../../contracts/common/errors.ts';
import type { Timers } from '../clock/timers.ts';
import { away, awayBecause, database, postgresCode, tooMany } from './postgres-errors.ts';
import { postgresTypes } from './postgres-sql.ts';

export interface Connections {
  /** Lends a connection for `work`; discards it if `spoils` says so about an error. */
  lend<T>(work: (client: pg.ClientBase) => Promise<T>, spoils: (error: unknown) => boolean): Promise<T>;
  /** Why it is away, with its place; null: it is not. */
  trouble(): string | null;
  load(): { readonly lent: number; readonly waiting: number; readonly max: number };
  /** Waits for the lent ones. */
  close(): Promise<void>;
}

const defaultConnectMs = 5_000;
const statementMs = 30_000;
/** A replica that hangs in the middle of a change must not hold its rows for ever. */
const idleInTransactionMs = 15_000;
const lockMs = 10_000;
/** For an answer that never comes, as from a computer that was switched off. */
const silentMs = 40_000;
const lookMs = 500;
/** After the database refused another connection, none is requested for this long. */
const fullMs = 5_000;

/**
 * Every statement of Gantry reads a few pages. If the planner believes otherwise, as with a generic plan beside a person with very many rows,
 * starting parallel processes costs more than all of the work.
 */
export const sessionSql = 'SET max_parallel_workers_per_gather = 0';

/** Modes that the client treats as `verify-full`, with a page of warnings on the terminal that this will change. */
const asStrict = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=[&#]|$)/;

export function settingsOf(url: string): pg.ClientConfig {
  return {
    connectionString: /[?&]uselibpqcompat=true/.test(url) ? url : url.replace(asStrict, '$1verify-full'),
    application_name: 'gantry',
    types: postgresTypes,
    keepAlive: true,
    connectionTimeoutMillis: defaultConnectMs,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    lock_timeout: lockMs,
    query_timeout: silentMs,
  };
}

export function whereOf(url: string): string {
  const { host, port, database } = new pg.Client(settingsOf(url));
  return `The database ${database ?? ''} at ${host.startsWith('/') ? host : `${host}:${port}`}`;
}

export function createConnections(deps: {
  readonly url: string;
  /** The most connections at the same time. */
  readonly max: number;
  readonly timers: Timers;
  /** Called each time the database went away, with its place and the reason, and when it is back. */
  readonly tell?: (sentence: string) => void;
  /** How long to wait for a new one; default 5 s. */
  readonly connectMs?: number;
}): Connections {
  const { url, max, timers, tell = () => {}, connectMs = defaultConnectMs } = deps;
  const where = whereOf(url);
  const pool = new pg.Pool({
    ...settingsOf(url),
    connectionTimeoutMillis: connectMs,
    max: max,
    allowExitOnIdle: true,
    onConnect: (client) => client.query(sessionSql),
  });
  // An idle connection that ends is replaced at its next use; one in use reports the error to its user.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  const places = createPlaces(max);
  let refused: AppError | null = null;
  let trouble: string | null = null;
  let closed = false;
  /** Number of answers over any connection. */
  let answered = 0;
  let cancelLook = () => {};

  function lost(error: unknown): AppError {
    const reason = away(error);
    trouble = awayBecause(error, where);
    if (refused === null) {
      tell(trouble);
      cancelLook = timers.after(lookMs, look);
    }
    refused = reason;
    places.refuse(reason);
    return again(reason);
  }

  function look(): void {
    if (closed) return;
    pool
      .connect()
      .then((client) => {
        client.release();
        refused = null;
        trouble = null;
        tell(`${where} is back.`);
      })
      .catch((error: unknown) => {
        refused = away(error);
        trouble = awayBecause(error, where);
        if (!closed) cancelLook = timers.after(lookMs, look);
      });
  }

  /**
   * A database that is slow to accept another connection while it answers the others is busy, and not away. If it accepts no more, the existing ones
   * do the work: this place is unused for a while, and the caller waits for another's release. A caller without a connection gives its place up.
   */
  async function connect(): Promise<pg.PoolClient> {
    for (;;) {
      const before = answered;
      try {
        return await pool.connect();
      } catch (error) {
        if (postgresCode(error) === tooMany && pool.totalCount > 0 && !closed && refused === null) {
          timers.after(fullMs, places.leave);
          await places.take(true);
          continue;
        }
        const busy = /timeout/i.test((error as Error).message) && answered > before;
        if (busy && !closed && refused === null) continue;
        const reason = lost(error);
        places.leave();
        throw reason;
      }
    }
  }

  return {
    async lend(work, spoils) {
      if (closed) throw new AppError('transport', `${database} is closed.`, 'Start Gantry again.');
      if (refused !== null) throw again(refused);
      await places.take();
      const client = await connect();
      let spoiled = false;
      try {
        const value = await work(client);
        answered += 1;
        return value;
      } catch (error) {
        spoiled = spoils(error);
        throw error;
      } finally {
        client.release(spoiled);
        places.leave();
      }
    },
    trouble: () => trouble,
    load: () => ({ lent: places.taken(), waiting: places.waiting(), max }),
    async close() {
      if (closed) return;
      closed = true;
      cancelLook();
      await pool.end();
    },
  };
}

/** Who may use a connection: the pool's own queue would count waiting for others as a database that does not answer. */
function createPlaces(max: number) {
  let free = max;
  const waiting: { readonly go: () => void; readonly fail: (error: AppError) => void }[] = [];

  /** `first`: before all others. */
  function take(first = false): Promise<void> | undefined {
    if (free > 0) {
      free -= 1;
      return undefined;
    }
    return new Promise((go, fail) => {
      if (first) waiting.unshift({ go, fail });
      else waiting.push({ go, fail });
    });
  }

  function leave(): void {
    const first = waiting.shift();
    if (first === undefined) free += 1;
    else first.go();
  }

  return {
    take,
    leave,
    /** All who wait get the error. */
    refuse(reason: AppError): void {
      for (const one of waiting.splice(0)) one.fail(again(reason));
    },
    taken: () => max - free,
    waiting: () => waiting.length,
  };
}

/** A new error for each caller: a stack belongs to one. */
function again(error: AppError): AppError {
  return new AppError(error.code, error.fact, error.action, error.options);
}
