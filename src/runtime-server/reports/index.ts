/** What bots report: kept in a spool of each bot, taken here. Composed by the factory. */
import { join } from 'node:path';
import { takeReport } from '../../contracts/factory/report-routes.ts';
import { type BoundRoute, bind } from '../../kit/http/types.ts';
import { createSpools } from './spool.ts';
import { createTaker, type Taker, type TakerDeps } from './taker.ts';

export interface Reports extends Pick<Taker, 'start' | 'close'> {
  readonly routes: readonly BoundRoute[];
}

/** `home` is the data folder. */
export function createReports({ home, ...deps }: Omit<TakerDeps, 'spools'> & { readonly home: string }): Reports {
  const taker = createTaker({ ...deps, spools: createSpools(join(home, 'run', 'bots')) });
  return {
    start: taker.start,
    close: taker.close,
    routes: [
      bind(takeReport, async ({ body, principal }) => ({
        body: { id: body.id, answer: (await taker.take(principal.agentId ?? '', body.id)) ?? null },
      })),
    ],
  };
}
