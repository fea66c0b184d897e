/** Rows of model spend, and their sums; this computer reports them to its home cloud. Must not know prices or bots. */
import type { HarnessName } from '../../contracts/factory/agent.ts';
import type { Tx } from '../../kit/store/store.ts';
import type { Usage, Wire } from './model.ts';

export interface Spend {
  readonly id: string;
  readonly at: number;
  readonly agentId: string;
  /** The record of the run that it belongs to. */
  readonly runId: string | null;
  /** The wire of Gantry's own request, or the harness that made it. */
  readonly wire: Wire | HarnessName;
  readonly model: string;
  readonly usage: Usage;
  readonly microUsd: number | null;
  /** Program and account of a bot in a terminal, such as `claude/work`. Absent: of none. */
  readonly account?: string | null;
}

/** False where a request of this id is written down already. */
export function recordSpend(tx: Tx, spend: Spend): boolean {
  const { changes } = tx.run(
    `INSERT INTO model_spend (id, at, agent_id, run_id, wire, model, input, cached_input, cache_write, output, micro_usd, account)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
    spend.id,
    spend.at,
    spend.agentId,
    spend.runId,
    spend.wire,
    spend.model,
    spend.usage.input,
    spend.usage.cachedInput,
    spend.usage.cacheWrite,
    spend.usage.output,
    spend.microUsd,
    spend.account ?? null,
  );
  return changes > 0;
}

export interface SpendSum {
  readonly requests: number;
  readonly input: number;
  readonly output: number;
  /** The sum of requests whose price is known. */
  readonly microUsd: number;
  /** Requests whose price is not known. */
  readonly unpriced: number;
}

/** `agentId` null: of all bots; `runId` null: of all runs. From `since` on, milliseconds since the epoch. */
export function sumSpend(
  tx: Pick<Tx, 'get'>,
  agentId: string | null,
  since: number,
  runId: string | null = null,
): SpendSum {
  // The index of the run decides, or else that of the bot: a `+` keeps SQLite from another.
  const [byTime, byAgent] = runId === null ? ['at', 'agent_id'] : ['+at', '+agent_id'];
  const where = `${byTime} >= ?${agentId === null ? '' : ` AND ${byAgent} = ?`}${runId === null ? '' : ' AND run_id = ?'}`;
  const row = tx.get<{ requests: number; input: number; output: number; micro_usd: number; unpriced: number }>(
    `SELECT COUNT(*) AS requests, COALESCE(SUM(input + cached_input + cache_write), 0) AS input,
       COALESCE(SUM(output), 0) AS output, COALESCE(SUM(micro_usd), 0) AS micro_usd,
       COALESCE(SUM(micro_usd IS NULL), 0) AS unpriced
     FROM model_spend WHERE ${where}`,
    since,
    ...[agentId, runId].filter((id) => id !== null),
  );
  const { requests = 0, input = 0, output = 0, micro_usd: microUsd = 0, unpriced = 0 } = row ?? {};
  return { requests, input, output, microUsd, unpriced };
}

/** Tokens of a bot from `since` on that came from no cache. */
export function freshTokens(tx: Pick<Tx, 'get'>, agentId: string, since: number): number {
  const row = tx.get<{ tokens: number }>(
    'SELECT COALESCE(SUM(input + cache_write + output), 0) AS tokens FROM model_spend WHERE agent_id = ? AND at >= ?',
    agentId,
    since,
  );
  return row?.tokens ?? 0;
}

const dayMs = 86_400_000;
/** Of days that are counted from 1970 (UTC): sums that a trigger keeps, so that a month costs no more than its days, bots and models. */
const sums = `SUM(requests) AS requests, SUM(input) AS input, SUM(output) AS output, SUM(micro_usd) AS microUsd,
       SUM(unpriced) AS unpriced`;
const daySums = `${sums}
     FROM model_spend_day WHERE day >= ?`;
const dayFrom = (since: number): number => Math.floor(since / dayMs);

/** The same, for each bot that spent anything. From the day (UTC) on in which `since` lies. */
export function sumSpendByAgent(tx: Pick<Tx, 'all'>, since: number): Map<string, SpendSum> {
  const rows = tx.all<{ agentId: string } & SpendSum>(
    `SELECT agent_id AS agentId, ${daySums} GROUP BY agent_id`,
    dayFrom(since),
  );
  return new Map(rows.map(({ agentId, ...sum }) => [agentId, sum]));
}

const spendColumns = {
  day: { key: 'NULL', from: 'model_spend_day' },
  bot: { key: 'agent_id', from: 'model_spend_day' },
  model: { key: 'model', from: 'model_spend_day' },
  account: { key: "NULLIF(account, '')", from: 'model_spend_account_day' },
} as const;

/** The same for each day, and on it for each bot, model or account; oldest first. */
export function sumSpendByDay(
  tx: Pick<Tx, 'all'>,
  since: number,
  by: keyof typeof spendColumns,
): (SpendSum & { readonly day: number; readonly key: string | null })[] {
  const { key, from } = spendColumns[by];
  return tx.all(
    `SELECT day, ${key} AS key, ${sums} FROM ${from} WHERE day >= ? GROUP BY 1, 2 ORDER BY 1, 2`,
    dayFrom(since),
  );
}

/** Models whose price is not known, of requests from that day on. */
export function unpricedModels(tx: Pick<Tx, 'all'>, since: number): string[] {
  return tx
    .all<{ model: string }>(
      'SELECT DISTINCT model FROM model_spend_day WHERE day >= ? AND unpriced > 0 ORDER BY model',
      dayFrom(since),
    )
    .map(({ model }) => model);
}
