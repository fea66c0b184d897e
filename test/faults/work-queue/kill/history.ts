/**
 * What the queue itself did, written down by the database in the same transaction: each change of each task, in the order in which it
 * became true, with the database's own time. No code of the product takes part.
 */
import type { BenchPostgres } from '../../../support/bench/postgres.ts';

export interface Change {
  readonly id: string;
  readonly status: string;
  readonly fence: number;
  readonly leaseId: string | null;
  readonly worker: string | null;
  /** When the lease ends, and when the change was made: ms since the epoch, the database's clock. */
  readonly until: number | null;
  readonly at: number;
}

/** A task as it stands at the end. */
export interface Ended {
  readonly id: string;
  readonly key: string;
  readonly status: string;
  readonly fence: number;
  readonly stdout: string | null;
}

const audit = `
CREATE TABLE audit (seq BIGSERIAL PRIMARY KEY, id TEXT, status TEXT, fence BIGINT, lease_id TEXT, worker TEXT, until BIGINT, at BIGINT);
CREATE FUNCTION audit_task() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO audit (id, status, fence, lease_id, worker, until, at) VALUES (NEW.id, NEW.status, NEW.fence, NEW.lease_id,
    NEW.lease_worker_id, NEW.lease_until, floor(extract(epoch FROM clock_timestamp()) * 1000));
  RETURN NEW;
END $$;
CREATE TRIGGER audit_task AFTER INSERT OR UPDATE ON work_task FOR EACH ROW EXECUTE FUNCTION audit_task()`;

export async function writeDown(postgres: BenchPostgres, url: string): Promise<void> {
  await postgres.ask(url, audit);
}

export async function historyOf(postgres: BenchPostgres, url: string): Promise<Change[]> {
  const rows = await postgres.ask<Record<string, string | null>>(url, 'SELECT * FROM audit ORDER BY seq');
  return rows.map((row) => ({
    id: String(row.id),
    status: String(row.status),
    fence: Number(row.fence),
    leaseId: row.lease_id ?? null,
    worker: row.worker ?? null,
    until: row.until === null ? null : Number(row.until),
    at: Number(row.at),
  }));
}

export async function endOf(postgres: BenchPostgres, url: string): Promise<Ended[]> {
  const sql = `SELECT id, payload::json->>'key' AS key, status, fence, result::json->>'stdout' AS stdout FROM work_task`;
  const rows = await postgres.ask<Record<string, string | null>>(url, sql);
  return rows.map(({ id, key, status, fence, stdout }) => ({
    id: String(id),
    key: String(key),
    status: String(status),
    fence: Number(fence),
    stdout: stdout ?? null,
  }));
}
