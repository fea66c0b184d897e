/** Search on a computer by words: runs, their steps, messages, events. For the person. */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Time } from '../common/values.ts';
import { area, base, errors, people } from './route-parts.ts';

export const foundKinds = ['run', 'step', 'message', 'event'] as const;

export const Found = z
  .strictObject({
    kind: z.enum(foundKinds),
    id: z.string(),
    title: z.string(),
    text: z
      .string()
      .meta({ description: 'The text around the first match, what it belongs to, or the type of an event.' }),
    at: Time,
    url: z.string().meta({ description: 'Path of the page that shows it.' }),
  })
  .meta({ id: 'Found' });
export type Found = z.infer<typeof Found>;

/** The most results of each kind. */
export const maxFound = 20;

export const search = defineRoute({
  op: 'search',
  area,
  errors,
  summary: 'Searches runs, steps, messages and events for all the words, newest first of each kind',
  method: 'GET',
  path: `${base}/search`,
  auth: people,
  scope: 'agents:read',
  owner: { none: 'one person a computer' },
  query: z.strictObject({
    q: z.string().min(1).max(200).meta({ description: 'Words; each may be anywhere, in upper or lower case.' }),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(maxFound)
      .optional()
      .meta({ description: `Results of each kind; default 6, at most ${maxFound}.` }),
  }),
  answers: {
    200: z.strictObject({
      found: z.array(Found),
      complete: z.boolean().meta({ description: 'False: older entries that were not searched may match too.' }),
    }),
  },
});

export const searchRoutes = [search] as const;
