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
}

/** False where a request of this id is written down already. */
export function recordSpend(tx: Tx, spend: Spend): boolean {
  const { changes } = tx.run(
    `INSERT OR IGNORE INTO model_spend (id, at, agent_id, run_id, wire, model, input, cached_input, cache_write, output, micro_usd)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
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
  const row = tx.get<{ requests: number; input: number; output: number; micro_usd: number; unpriced: number }>(
    `SELECT COUNT(*) AS requests, COALESCE(SUM(input + cached_input + cache_write), 0) AS input,
       COALESCE(SUM(output), 0) AS output, COALESCE(SUM(micro_usd), 0) AS micro_usd,
       COALESCE(SUM(micro_usd IS NULL), 0) AS unpriced
     FROM model_spend WHERE at >= ? AND (? IS NULL OR agent_id = ?) AND (? IS NULL OR run_id = ?)`,
    since,
    agentId,
    agentId,
    runId,
    runId,
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

/** The same, for each bot that spent anything. */
export function sumSpendByAgent(tx: Pick<Tx, 'all'>, since: number): Map<string, SpendSum> {
  const rows = tx.all<{ agentId: string } & SpendSum>(
    `SELECT agent_id AS agentId, COUNT(*) AS requests, SUM(input + cached_input + cache_write) AS input,
       SUM(output) AS output, COALESCE(SUM(micro_usd), 0) AS microUsd, SUM(micro_usd IS NULL) AS unpriced
     FROM model_spend WHERE at >= ? GROUP BY agent_id`,
    since,
  );
  return new Map(rows.map(({ agentId, ...sum }) => [agentId, sum]));
}

const spendColumns = { day: 'NULL', bot: 'agent_id', model: 'model' } as const;

/** The same for each day (UTC), and on it for each bot or model; oldest first. `day` counts from 1970. */
export function sumSpendByDay(
  tx: Pick<Tx, 'all'>,
  since: number,
  by: keyof typeof spendColumns,
): (SpendSum & { readonly day: number; readonly key: string | null })[] {
  return tx.all(
    `SELECT at / 86400000 AS day, ${spendColumns[by]} AS key, COUNT(*) AS requests,
       SUM(input + cached_input + cache_write) AS input, SUM(output) AS output,
       COALESCE(SUM(micro_usd), 0) AS microUsd, SUM(micro_usd IS NULL) AS unpriced
     FROM model_spend WHERE at >= ? GROUP BY 1, 2 ORDER BY 1, 2`,
    since,
  );
}

/** Models whose price is not known, of requests from `since` on. */
export function unpricedModels(tx: Pick<Tx, 'all'>, since: number): string[] {
  return tx
    .all<{ model: string }>(
      'SELECT DISTINCT model FROM model_spend WHERE at >= ? AND micro_usd IS NULL ORDER BY model',
      since,
    )
    .map(({ model }) => model);
}
