/** A word in an address, for the search parameters of every area. Must not know which addresses there are. */
import { z } from 'zod';

/** A link that somebody wrote may have a bare number where the page itself writes a text. */
export const searchText = z
  .union([z.string(), z.number().transform(String)])
  .pipe(z.string().max(300))
  .optional()
  .catch(undefined);

/** Which page of a list, as the server named it. */
export const searchCursor = z.string().max(500).optional().catch(undefined);
