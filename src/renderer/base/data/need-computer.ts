/**
 * Refuses requests that name no computer as long as the person has paired none. The cloud would refuse them, too; the page says so without sending
 * them. Must not know what is asked for.
 */
import type { QueryClient } from '@tanstack/react-query';
import { AppError } from '../../../contracts/common/errors.ts';
import type { personQueriesOf } from './person-queries.ts';
import { homeOf } from './places.ts';

/** Throws `not_found` if no computer is paired. The page reads session and computers at its start anyway. */
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
