/**
 * Records a store's statements and how an engine would run each: along an index to what it returns, or through other people's rows. For tests beside
 * somebody else's million rows.
 */

import pg from 'pg';
import { sessionSql } from '../../src/kit/store/postgres-connections.ts';
import { numbered } from '../../src/kit/store/postgres-sql.ts';
import type { SharedReader, SharedStore, SharedTx, Sql } from '../../src/kit/store/shared-store.ts';
import type { Value } from '../../src/kit/store/store.ts';

export interface AskedStatement {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** The same store, and every statement that it was asked from now on, once a text. */
export function recording(store: SharedStore): {
  readonly store: SharedStore;
  readonly asked: Map<string, AskedStatement>;
} {
  const asked = new Map<string, AskedStatement>();
  const note = (sql: Sql, values: readonly Value[]) => {
    const text = typeof sql === 'string' ? sql : sql[store.engine];
    if (!asked.has(text)) asked.set(text, { sql: text, values });
  };
  const readerOf = (reader: SharedReader): SharedReader => ({
    get: (sql, ...values) => {
      note(sql, values);
      return reader.get(sql, ...values);
    },
    all: (sql, ...values) => {
      note(sql, values);
      return reader.all(sql, ...values);
    },
  });
  const txOf = (tx: SharedTx): SharedTx => ({
    ...readerOf(tx),
    run: (sql, ...values) => {
      note(sql, values);
      return tx.run(sql, ...values);
    },
    afterCommit: (effect) => tx.afterCommit(effect),
  });
  return {
    asked,
    store: {
      ...store,
      write: (operation, options) => store.write((tx) => operation(txOf(tx)), options),
      read: (operation) => store.read((tx) => operation(readerOf(tx))),
      get: (sql, ...values) => {
        note(sql, values);
        return store.get(sql, ...values);
      },
      all: (sql, ...values) => {
        note(sql, values);
        return store.all(sql, ...values);
      },
    },
  };
}

/** What SQLite would do that grows with what others have: a whole table, or a sort of what no index has in order. */
export async function scansOfSqlite(
  store: SharedStore,
  asked: Iterable<AskedStatement>,
  /** Those that may be read in full, since they stay small. */
  small: readonly string[] = [],
  /** Complete results may be sorted. */
  sorts: 'never' | 'in full' = 'never',
): Promise<string[]> {
  const names = await store.all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'");
  const large = names.map(({ name }) => name).filter((name) => !small.includes(name));
  const tables = new RegExp(`^SCAN (?:${large.join('|')})\\b`);
  const found: string[] = [];
  for (const { sql, values } of asked) {
    const plan = await store.write((tx) => tx.all<{ detail: string }>(`EXPLAIN QUERY PLAN ${sql}`, ...values));
    // What a limit has cut before may be sorted.
    const cut = /LIMIT \d{3,5}\b/.test(sql) || (sorts === 'in full' && !/\bLIMIT\b/.test(sql));
    const bad = plan.filter(
      ({ detail }) => tables.test(detail) || (!cut && /USE TEMP B-TREE FOR ORDER BY/.test(detail)),
    );
    if (bad.length > 0) found.push(`${oneLine(sql)}: ${plan.map(({ detail }) => detail).join(' | ')}`);
  }
  return found;
}

interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Shared Hit Blocks'?: number;
  readonly 'Shared Read Blocks'?: number;
  readonly Plans?: readonly PlanNode[];
}

/** Pages of 8 KB: what a thousand rows lie on, with the indexes that lead there. */
const maxPages = 60;

/**
 * What PostgreSQL does that grows with what others have, by the pages that it touches: planned for these values, and planned once for
 * all, as a connection does that was asked the same often. Nothing is kept.
 */
export async function scansOfPostgres(url: string, asked: Iterable<AskedStatement>): Promise<string[]> {
  const found: string[] = [];
  await explained(url, asked, ['force_custom_plan', 'force_generic_plan'], ({ sql }, mode, plan) => {
    const pages = buffersOf(plan);
    const tables = nodesOf(plan).flatMap((node) => (node['Node Type'] === 'Seq Scan' ? [node['Relation Name']] : []));
    if (pages > maxPages) found.push(`${mode}: ${pages} pages, in full ${tables.join(' ')}: ${oneLine(sql)}`);
  });
  return found;
}

/** Of each statement, planned for its values: the buffers that PostgreSQL touches. Nothing is kept. */
export async function buffersOfPostgres(url: string, asked: Iterable<AskedStatement>): Promise<number[]> {
  const found: number[] = [];
  await explained(url, asked, ['force_custom_plan'], (_asked, _mode, plan) => void found.push(buffersOf(plan)));
  return found;
}

async function explained(
  url: string,
  asked: Iterable<AskedStatement>,
  modes: readonly string[],
  onPlan: (asked: AskedStatement, mode: string, plan: PlanNode) => void,
): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sessionSql);
  try {
    for (const one of asked) {
      const { sql, values } = one;
      for (const mode of modes) {
        const given = values.length === 0 ? '' : `(${values.map(literal).join(', ')})`;
        await client.query(`SET plan_cache_mode = ${mode}; BEGIN; PREPARE p AS ${numbered(sql)}`);
        const text = `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) EXECUTE p${given}`;
        const { rows } = await client.query<{ 'QUERY PLAN': readonly { Plan: PlanNode }[] }>(text);
        await client.query('ROLLBACK; DEALLOCATE p');
        onPlan(one, mode, rows[0]!['QUERY PLAN'][0]!.Plan);
      }
    }
  } finally {
    await client.end();
  }
}

const buffersOf = (plan: PlanNode) => (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0);
const oneLine = (sql: string) => sql.replace(/\s+/g, ' ').slice(0, 110);
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

function literal(value: Value): string {
  if (value === null) return 'NULL';
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if (value instanceof Uint8Array) return `'\\x${Buffer.from(value).toString('hex')}'`;
  return String(value);
}
