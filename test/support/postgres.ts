/**
 * A real PostgreSQL for tests: one server a run, one database a worker of the run, which its files share one after the other, one
 * schema a test. All of it goes with the run. Where it cannot run, the tests that need it are skipped, and say so.
 */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { inject } from 'vitest';

export interface TestPostgres {
  /** A new, empty schema: as good as a separate database, and created instantly. */
  schema(): Promise<string>;
  /** A new, empty database, where one schema is not enough. */
  database(): Promise<string>;
  /** One statement as the database's owner, at any of the addresses that were given out. */
  ask<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]>;
}

const startMs = 60_000;
/** Schemas created together: one connection for many tests, because a connection each would cost as much as a test's first statements. */
const schemasAtOnce = 20;
const keeper = new URL('postgres-keeper.ts', import.meta.url).pathname;

/** Starts the server unless another file has; answers its address. Throws what kept it from starting. */
export async function startServer({ folder, parent }: { folder: string; parent: number }): Promise<string> {
  const [ready, failed] = [join(folder, 'ready'), join(folder, 'failed')];
  if (first(join(folder, 'lock'))) {
    spawn(process.execPath, [keeper, folder, String(parent)], { detached: true, stdio: 'ignore' }).unref();
  }
  for (let waited = 0; waited < startMs; waited += 50) {
    if (existsSync(ready)) return readFileSync(ready, 'utf8');
    if (existsSync(failed)) throw new Error(readFileSync(failed, 'utf8'));
    await pause(50);
  }
  throw new Error('it did not start in time');
}

function first(lock: string): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    return false;
  }
}

export function withName(url: string, name: string): string {
  return url.replace('/postgres?', `/${name}?`);
}

export async function ask<T extends pg.QueryResultRow>(url: string, sql: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

function creating(from: number): string {
  return Array.from({ length: schemasAtOnce }, (_, index) => `CREATE SCHEMA s${from + index}`).join(';');
}

async function open(): Promise<TestPostgres> {
  const server = await startServer(inject('postgres'));
  const database = async () => {
    const name = `t_${randomBytes(6).toString('hex')}`;
    await ask(server, `CREATE DATABASE ${name}`);
    return withName(server, name);
  };
  let own: Promise<string> | null = null;
  let schemas = 0;
  const portions: Promise<unknown>[] = [];
  return {
    ask,
    database,
    async schema() {
      own ??= database();
      const url = await own;
      const number = schemas;
      schemas += 1;
      const portion = Math.floor(number / schemasAtOnce);
      portions[portion] ??= ask(url, creating(portion * schemasAtOnce));
      await portions[portion];
      return `${url}&options=${encodeURIComponent(`-c search_path=s${number}`)}`;
    },
  };
}

/** Null where no PostgreSQL can run; the reason has been said. */
export const postgres: TestPostgres | null = await open().catch((fault: unknown) => {
  process.stderr.write(`No PostgreSQL here, its tests are skipped: ${String(fault)}\n`);
  return null;
});
