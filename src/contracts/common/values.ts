/** Values that every area shares: times, ids, paging. Must not know any area. */
import { z } from 'zod';

/** RFC 3339 UTC with milliseconds, for example `2026-01-02T03:04:05.678Z`. */
export const Time = z.iso.datetime({ precision: 3 });

/** Opaque id. Route parameters accept only these characters, so `__proto__` and paths never reach a lookup by accident. */
export const Id = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._:~@-]{0,199}$/, 'an id of letters, digits and . _ : ~ @ -');

/** `?limit=` (1–200, default 50) and `?cursor=` (opaque, from `nextCursor`). */
export const maxPageSize = 200;
export const Paging = {
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .max(maxPageSize)
    .optional()
    .meta({ description: 'At most this many, 1 to 200 (default 50).' }),
  cursor: z.string().max(500).optional().meta({ description: 'Continue where the last page ended.' }),
};

/** A query flag: `?dryRun=1` or `true`. */
export const QueryFlag = z
  .enum(['1', 'true', '0', 'false'])
  .transform((value) => value === '1' || value === 'true')
  .optional();
