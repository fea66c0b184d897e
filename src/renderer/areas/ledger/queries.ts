/**
 * The ledger's rows as a list that only grows: rows never change, so what was read stays, and an event has only the rows after
 * the newest one read. Must not know how a row is shown.
 */
import { queryOptions } from '@tanstack/react-query';
import type { LedgerRow } from '../../../contracts/factory/work-engine/ledger.ts';
import type { FactoryApi } from '../../base/data/api.ts';
import type { Keys, LedgerFilter } from '../../base/data/keys.ts';

/** Rows read at once. */
export const ledgerPage = 100;
/** If more newer rows than this arrive, the list restarts at the newest. */
const maxNew = 1000;

export interface LedgerRows {
  /** Newest first. */
  readonly rows: readonly LedgerRow[];
  /** Id of the newest row of all, whatever the filter. */
  readonly head: string;
  /** Whether older rows can be read. */
  readonly more: boolean;
}

export function ledgerQuery(factory: FactoryApi, keys: Keys, filter: LedgerFilter) {
  const queryKey = keys.ledger(filter);
  return queryOptions<LedgerRows>({
    queryKey,
    queryFn: async ({ client, signal }) => {
      const before = client.getQueryData<LedgerRows>(queryKey);
      const newest = before?.rows[0];
      if (before === undefined || newest === undefined) return firstRows(factory, filter, signal);
      const added: LedgerRow[] = [];
      for (let after = newest.id; added.length < maxNew; ) {
        const answer = await factory.queryLedger({ query: { ...filter, after, limit: ledgerPage } }, { signal });
        added.push(...answer.rows);
        const last = answer.rows.at(-1);
        if (last === undefined || answer.rows.length < ledgerPage) {
          return { ...before, head: answer.head, rows: [...added.reverse(), ...before.rows] };
        }
        after = last.id;
      }
      return firstRows(factory, filter, signal);
    },
  });
}

async function firstRows(factory: FactoryApi, filter: LedgerFilter, signal: AbortSignal): Promise<LedgerRows> {
  const answer = await factory.queryLedger({ query: { ...filter, limit: ledgerPage } }, { signal });
  return { rows: answer.rows, head: answer.head, more: answer.nextCursor !== null };
}

/** The rows before the oldest one read, behind it. */
export async function olderRows(factory: FactoryApi, filter: LedgerFilter, known: LedgerRows): Promise<LedgerRows> {
  const oldest = known.rows.at(-1);
  if (oldest === undefined) return known;
  const answer = await factory.queryLedger({ query: { ...filter, before: oldest.id, limit: ledgerPage } });
  return { ...known, rows: [...known.rows, ...answer.rows], more: answer.nextCursor !== null };
}

/** Rows of a page that lies anywhere: those whose ids begin at `page` times {@link ledgerPage}. They never change once they are all there. */
export function ledgerPageQuery(factory: FactoryApi, computer: string | null, page: number) {
  return queryOptions({
    queryKey: ['ledger-page', computer, page],
    queryFn: async ({ signal }) => {
      const before = String((page + 1) * ledgerPage);
      const answer = await factory.queryLedger({ query: { before, limit: ledgerPage } }, { signal });
      return new Map(answer.rows.map((row) => [Number(row.id), row]));
    },
  });
}
