/**
 * Migrations on PostgreSQL: one process at a time behind an advisory lock, each step in its own transaction with its mark. If several replicas start
 * at once, the first applies them and the others find them done.
 */
import type pg from 'pg';
import { AppError } from '../../contracts/common/errors.ts';
import { schemaText } from './postgres-sql.ts';
import { type AppliedStep, pendingSteps, type Step, stepsOf } from './steps.ts';
import type { Migration } from './store.ts';

/** Any number that no other program uses in the same database. */
const lock = 4_726_894_377_002;
/** A step over a large table takes long; the others wait for it. */
const waitMs = 10 * 60_000;
const oldest = 140_000;

const table = `CREATE TABLE IF NOT EXISTS schema_migration (
  area TEXT NOT NULL, number BIGINT NOT NULL, name TEXT NOT NULL, sha256 TEXT NOT NULL, applied_at BIGINT NOT NULL,
  PRIMARY KEY (area, number))`;

/** Brings the schema up to date. Throws `refused` if this program may not touch the database; nothing is written then. */
export async function migratePostgres(
  client: pg.ClientBase,
  migrations: readonly Migration[],
  { where, now }: { where: string; now: number },
): Promise<void> {
  const steps = stepsOf({ migrations, textOf: ({ sql, postgres }) => schemaText(postgres ?? sql) });
  await checkServer(client, where);
  const pending = async () =>
    pendingSteps(await appliedSteps(client), steps, { where, backup: ' (pg_dump before each upgrade)' });
  if ((await pending()).length === 0) return;
  await client.query(`SET statement_timeout = ${waitMs}; SET lock_timeout = ${waitMs}`);
  await client.query('SELECT pg_advisory_lock($1)', [lock]);
  try {
    for (const step of await pending()) await apply(client, step, now);
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [lock]);
  }
}

async function checkServer(client: pg.ClientBase, where: string): Promise<void> {
  const sql = `SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS name,
    current_setting('server_encoding') AS encoding`;
  const { rows } = await client.query<{ version: number; name: string; encoding: string }>(sql);
  const [{ version, name, encoding } = { version: 0, name: '', encoding: '' }] = rows;
  if (version < oldest) {
    throw new AppError('refused', `${where} is PostgreSQL ${name}.`, 'Use PostgreSQL 14 or newer.');
  }
  if (encoding !== 'UTF8') {
    throw new AppError('refused', `${where} has the encoding ${encoding}.`, 'Use a database with the encoding UTF8.');
  }
}

async function appliedSteps(client: pg.ClientBase): Promise<AppliedStep[]> {
  const { rows } = await client.query<{ there: number }>("SELECT to_regclass('schema_migration') IS NOT NULL AS there");
  if (rows[0]?.there !== 1) return [];
  return (await client.query<AppliedStep>('SELECT area, number, name, sha256 FROM schema_migration')).rows;
}

async function apply(client: pg.ClientBase, { area, number, name, sql, sha256 }: Step, now: number): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(table);
    await client.query(sql);
    await client.query('INSERT INTO schema_migration VALUES ($1, $2, $3, $4, $5)', [area, number, name, sha256, now]);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  }
}
