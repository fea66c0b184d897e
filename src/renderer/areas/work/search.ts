/** Search parameters of campaigns, their runs and schedules. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

export const workSearch = z.object({
  /** Shows schedules in place of the campaigns. */
  schedules: searchText,
  campaign: searchText,
  dag: searchText,
  node: searchText,
  /** Without one: the board by what matters. */
  view: z.enum(['waves', 'graph', 'times']).optional().catch(undefined),
  /** `1`: the step takes the whole main part. */
  full: searchText,
  filter: searchText,
  /** The dialog that starts a run: a template's id, or empty. */
  start: searchText,
});
export type WorkSearch = z.infer<typeof workSearch>;
