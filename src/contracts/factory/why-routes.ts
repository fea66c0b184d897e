/** Explains a state: one causal sentence, the same in the terminal and on screen (`gantry why`). */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { area, base, errors, readers } from './route-parts.ts';

export const whyKinds = ['bot', 'node', 'delivery', 'run'] as const;

export const WhySubject = z.strictObject({
  kind: z.enum(whyKinds),
  id: z.string(),
  dagId: z.string().nullable().meta({ description: 'Of a node or a run.' }),
  title: z.string().meta({ description: 'Address of a bot, title of a node or a run.' }),
});
export type WhySubject = z.infer<typeof WhySubject>;

export const Why = z
  .strictObject({
    subject: WhySubject,
    sentence: z.string().meta({ description: 'One sentence: what is, and because of what.' }),
    since: Time.nullable().meta({ description: 'When it became so.' }),
    because: z
      .array(WhySubject)
      .meta({ description: 'What the sentence leans on, nearest cause first; each can be asked about in turn.' }),
    receipts: z.array(z.string()).meta({ description: 'Ledger ids of what it tells.' }),
  })
  .meta({ id: 'Why' });
export type Why = z.infer<typeof Why>;

export const explainWhy = defineRoute({
  op: 'explainWhy',
  area,
  errors,
  summary: 'Why a bot, a node, a delivery or a run is as it is, in one sentence',
  method: 'GET',
  path: `${base}/why/:id`,
  auth: readers,
  scope: 'agents:read',
  owner: { none: 'looked up among the caller’s own; anything else is not found' },
  params: z.strictObject({
    id: Id.meta({ description: 'Address or id of a bot, or the id of a node, a delivery or a run.' }),
  }),
  query: z.strictObject({ run: Id.optional().meta({ description: 'Then `id` may be the id of a step of this run.' }) }),
  answers: { 200: Why },
});

export const whyRoutes = [explainWhy] as const;
