/**
 * Reads tokens and cost from opencode's database: one row a message; an answer's row has its count and its end. Read only; conversations of
 * sub-agents count to the one that started them. Must not know prices.
 */
import { join } from 'node:path';
import { readForeign } from '../../../kit/store/read-foreign.ts';
import type { Surroundings } from '../adapter.ts';
import type { BotSpec } from '../harness.ts';
import type { UsageAsk, UsageLine, UsagePage } from '../usage.ts';
import { count, parseObject, record } from '../values.ts';

const maxRows = 500;

/** Where opencode keeps its conversations for this bot. */
export function databaseFile({ env, home }: Pick<Surroundings, 'env' | 'home'>, bot?: Pick<BotSpec, 'env'>): string {
  const set = (name: string) => bot?.env[name] || env[name];
  const data = set('XDG_DATA_HOME') || join(set('HOME') || home, '.local', 'share');
  return set('OPENCODE_DB') || join(data, 'opencode', 'opencode.db');
}

const rowsSql = `
  with recursive family(id) as (
    select id from session where id = ?
    union select session.id from session join family on session.parent_id = family.id
  )
  select message.id as id, message.data as data, message.time_updated as at
  from message join family on message.session_id = family.id
  where message.time_updated >= ?
  order by message.time_updated, message.id limit ${maxRows + 1}`;

export async function readOpencodeUsage({ facts, cursor }: UsageAsk): Promise<UsagePage> {
  const { sessionId, database } = facts;
  const same = cursor !== null && cursor.session === sessionId;
  const since = same && typeof cursor.since === 'number' ? cursor.since : 0;
  const nothing = { lines: [], cursor: { session: sessionId ?? null, since }, more: false };
  if (typeof sessionId !== 'string' || typeof database !== 'string') return nothing;
  const rows = readForeign(database, rowsSql, sessionId, since);
  if (rows === null || rows.length === 0) return nothing;
  const page = rows.slice(0, maxRows);
  const last = Number(page.at(-1)?.at ?? since);
  // A row of the same millisecond may still follow: rows read again are recognised by id. A page of only one millisecond advances.
  const next = rows.length > maxRows && last === since ? since + 1 : last;
  return {
    lines: page.flatMap((row) => answerOf(String(row.id), row.data) ?? []),
    cursor: { session: sessionId, since: next },
    more: rows.length > maxRows,
  };
}

/** Null for a prompt, and for an answer that is still being given: its row changes when it ends. */
function answerOf(id: string, data: unknown): UsageLine | null {
  const entry = parseObject(String(data)) ?? {};
  const completed = record(entry.time).completed;
  const tokens = record(entry.tokens);
  if (entry.role !== 'assistant' || typeof completed !== 'number' || typeof entry.modelID !== 'string') return null;
  const cache = record(tokens.cache);
  const cost = typeof entry.cost === 'number' && entry.cost > 0 ? entry.cost : null;
  return {
    id,
    at: completed,
    model: entry.modelID,
    input: count(tokens.input),
    cachedInput: count(cache.read),
    cacheWrite: count(cache.write),
    output: count(tokens.output) + count(tokens.reasoning),
    // It reports 0 for a model whose price it does not know.
    cents: cost === null ? null : cost * 100,
  };
}
