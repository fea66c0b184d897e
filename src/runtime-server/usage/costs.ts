/** What the steps of a run cost, from the requests of the bots that worked on them. Must not know prices. */
import type { Tx } from '../../kit/store/store.ts';

export interface StepCost {
  readonly nodeId: string;
  readonly model: string;
  readonly requests: number;
  /** Tokens, including those from a cache. */
  readonly input: number;
  readonly output: number;
  /** Of requests whose price is known. */
  readonly microUsd: number;
  /** Requests whose price is not known. */
  readonly unpriced: number;
}

/** By step and model. A bot's requests belong to the step that its record names. */
export function costsOfRun(tx: Pick<Tx, 'all'>, workspace: string, dagId: string): StepCost[] {
  return tx.all<StepCost>(
    `SELECT substr(run.source_ref, ?) AS nodeId, spend.model, COUNT(*) AS requests,
       SUM(spend.input + spend.cached_input + spend.cache_write) AS input, SUM(spend.output) AS output,
       COALESCE(SUM(spend.micro_usd), 0) AS microUsd, SUM(spend.micro_usd IS NULL) AS unpriced
     FROM engine_agent_run AS run JOIN model_spend AS spend ON spend.run_id = run.id
     WHERE run.workspace = ? AND run.source_kind IN ('workflow', 'work') AND run.source_ref > ? AND run.source_ref < ?
     GROUP BY nodeId, spend.model ORDER BY MIN(spend.at)`,
    dagId.length + 2,
    workspace,
    // The id and a slash; 0 is the character after the slash.
    `${dagId}/`,
    `${dagId}0`,
  );
}

/** What requests used; `unpriced` are those whose price is not known. */
export interface Used {
  readonly microUsd: number;
  readonly tokens: number;
  readonly unpriced: number;
}

/** The newest request. Requests are only added, and the store is never packed in place, so row ids rise. */
export function newestSpend(tx: Pick<Tx, 'get'>): number {
  return tx.get<{ at: number | null }>('SELECT MAX(rowid) AS at FROM model_spend')?.at ?? 0;
}

/** What requests after `after` used, by step. Costs as much as there are such requests: CROSS JOIN keeps SQLite from beginning with the runs. */
export function spentBetween(
  tx: Pick<Tx, 'all'>,
  workspace: string,
  after: number,
  upTo: number,
): (Used & { readonly dagId: string; readonly nodeId: string })[] {
  return tx
    .all<Used & { ref: string }>(
      `SELECT run.source_ref AS ref, COALESCE(SUM(spend.micro_usd), 0) AS microUsd, SUM(spend.micro_usd IS NULL) AS unpriced,
         SUM(spend.input + spend.cached_input + spend.cache_write + spend.output) AS tokens
       FROM model_spend AS spend CROSS JOIN engine_agent_run AS run ON run.id = spend.run_id
       WHERE spend.rowid > ? AND spend.rowid <= ? AND run.workspace = ? AND run.source_kind IN ('workflow', 'work')
       GROUP BY ref`,
      after,
      upTo,
      workspace,
    )
    .flatMap(({ ref, ...used }) => {
      const [dagId, nodeId] = ref.split('/');
      return dagId === undefined || nodeId === undefined ? [] : [{ dagId, nodeId, ...used }];
    });
}

/** What all requests for a run (`nodeId` null), or for one of its steps, used. */
export function spentOn(tx: Pick<Tx, 'get'>, workspace: string, dagId: string, nodeId: string | null): Used {
  const row = tx.get<Used>(
    `SELECT COALESCE(SUM(spend.micro_usd), 0) AS microUsd, COALESCE(SUM(spend.micro_usd IS NULL), 0) AS unpriced,
       COALESCE(SUM(spend.input + spend.cached_input + spend.cache_write + spend.output), 0) AS tokens
     FROM engine_agent_run AS run JOIN model_spend AS spend ON spend.run_id = run.id
     WHERE run.workspace = ? AND run.source_kind IN ('workflow', 'work') AND run.source_ref >= ? AND run.source_ref < ?`,
    workspace,
    `${dagId}/${nodeId ?? ''}`,
    // 0 is the character after the slash; ids have no control characters.
    nodeId === null ? `${dagId}0` : `${dagId}/${nodeId}\u0001`,
  );
  return row ?? { microUsd: 0, tokens: 0, unpriced: 0 };
}
