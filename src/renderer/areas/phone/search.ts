/** What stands in the address of the phone. */
import { z } from 'zod';
import { searchCursor, searchText } from '../../base/search-text.ts';

/**
 * A number, with the part of it that is shown: whom it texts with, a call of it, or its registration. Or the person's own phone, or the
 * handsets of the simulated carrier. `cursor`, `older`: which page of consents and of opt-outs.
 */
export const phoneSearch = z.object({
  number: searchText,
  show: z.enum(['calls', 'people', 'register']).optional().catch(undefined),
  with: searchText,
  call: searchText,
  page: z.enum(['own', 'handsets']).optional().catch(undefined),
  cursor: searchCursor,
  older: searchCursor,
});
export type PhoneSearch = z.infer<typeof phoneSearch>;
