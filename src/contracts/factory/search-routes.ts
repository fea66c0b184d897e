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
    text: z.string().meta({ description: 'What was found, around the first word; or what it belongs to.' }),
    at: Time,
    url: z.string().meta({ description: 'The page that shows it, as a path.' }),
  })
  .meta({ id: 'Found' });
export type Found = z.infer<typeof Found>;

/** The most results of each kind. */
export const mostFound = 20;

export const search = defineRoute({
  op: 'search',
  area,
  errors,
  summary: 'Runs, steps, messages and events in which every word stands, newest first of each kind',
  method: 'GET',
  path: `${base}/search`,
  auth: people,
  scope: 'agents:read',
  owner: { none: 'one person a computer' },
  query: z.strictObject({
    q: z.string().min(1).max(200).meta({ description: 'Words; each may stand anywhere, in capitals or not.' }),
    limit: z.coerce
      .number()
      .int()
      .min(1)
      .max(mostFound)
      .optional()
      .meta({ description: `Of each kind; 6 where none is given, ${mostFound} at the most.` }),
  }),
  answers: {
    200: z.strictObject({
      found: z.array(Found),
      complete: z.boolean().meta({ description: 'False: what is older than what was looked through may match, too.' }),
    }),
  },
});

export const searchRoutes = [search] as const;
