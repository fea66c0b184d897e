/** Search parameters of the connectors' pages. */
import { z } from 'zod';
import { searchCursor, searchText } from '../../base/search-text.ts';

/**
 * A connector, an event of it that is being subscribed to, a subscription with the part of it that is shown, a job (`run`); or an app that was
 * let in. `cursor`: which page of what is listed.
 */
export const connectorsSearch = z.object({
  connector: searchText,
  event: searchText,
  sub: searchText,
  part: z.enum(['rules', 'runs']).optional().catch(undefined),
  state: searchText,
  run: searchText,
  app: searchText,
  cursor: searchCursor,
});
export type ConnectorsSearch = z.infer<typeof connectorsSearch>;
