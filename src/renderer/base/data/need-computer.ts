/**
 * Whether any computer answers requests that name none. A person of a cloud who has paired none is told so by the page, as the cloud would, and nothing is
 * sent. Must not know what is asked for.
 */
import type { QueryClient } from '@tanstack/react-query';
import { AppError } from '../../../contracts/common/errors.ts';
import type { personQueriesOf } from './person-queries.ts';
import { homeOf } from './places.ts';

/** Throws `not_found` while there is none. Both reads are the page's own, which it makes at its start anyway. */
export async function needComputer(
  client: QueryClient,
  queries: Pick<ReturnType<typeof personQueriesOf>, 'session' | 'computers'>,
): Promise<void> {
  const { computer } = await client.ensureQueryData(queries.session);
  if (computer !== null) return;
  const { computers } = await client.ensureQueryData(queries.computers);
  if (homeOf(null, computers) !== null) return;
  throw new AppError('not_found', 'No computer is paired yet.', 'Pair one in the settings.');
}
