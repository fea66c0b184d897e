/** What bots report: kept in a spool of each bot, taken here. Composed by the factory. */
import { join } from 'node:path';
import { listReports, takeReport } from '../../contracts/factory/report-routes.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { decodeCursor, defaultLimit, encodeCursor, page } from '../base/paging.ts';
import type { TakerDeps } from './deps.ts';
import { createSpools } from './spool.ts';
import { readReports } from './store.ts';
import { createTaker, type Taker } from './taker.ts';

export interface Reports extends Pick<Taker, 'start' | 'close'> {
  readonly routes: readonly BoundRoute[];
}

/** `home` is the data folder. */
export function createReports({
  home,
  findBot,
  ...deps
}: Omit<TakerDeps, 'spools'> & {
  readonly home: string;
  /** By id, address or name; null for one that there is no more. */
  readonly findBot: (name: string) => { readonly id: string } | null;
}): Reports {
  const taker = createTaker({ ...deps, spools: createSpools(join(home, 'run', 'bots')) });
  return {
    start: taker.start,
    close: taker.close,
    routes: [
      bind(takeReport, async ({ body, principal }) => ({
        body: { id: body.id, answer: (await taker.take(principal.agentId ?? '', body.id)) ?? null },
      })),
      bind(listReports, async ({ query: { agent, outcome, cursor, limit = defaultLimit } }) => {
        const before = decodeCursor(cursor, placeOf);
        // Of a bot that is gone, its id still finds them.
        const agentId = agent === undefined ? null : (findBot(agent)?.id ?? agent);
        const rows = await deps.store.read((tx) =>
          readReports(tx, { agentId, outcome: outcome ?? null, before, limit: limit + 1 }),
        );
        const { shown, nextCursor } = page(rows, limit, (last) => encodeCursor(Date.parse(last.takenAt), last.id));
        return { body: { reports: shown, nextCursor } };
      }),
    ],
  };
}

/** A report's place in the list. */
function placeOf(parts: unknown): { readonly takenAt: number; readonly id: string } | null {
  if (!Array.isArray(parts) || parts.length !== 2) return null;
  const [takenAt, id] = parts as unknown[];
  return typeof takenAt === 'number' && typeof id === 'string' ? { takenAt, id } : null;
}
