/** Search parameters of the floor. */
import { z } from 'zod';
import { searchText } from '../../base/search-text.ts';

/** What of the focused bot is shown beside its pane. */
const looks = ['changes', 'files'] as const;
export type FloorLook = (typeof looks)[number];

export const floorSearch = z.object({
  filter: searchText,
  bot: searchText,
  look: z.enum(looks).optional().catch(undefined),
  /** Of the bot's folder: shown in either look. */
  file: z.string().min(1).max(4096).optional().catch(undefined),
  line: z.coerce.number().int().min(1).optional().catch(undefined),
});
