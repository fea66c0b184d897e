/** Explains a state: one causal sentence, the same in the terminal and on screen (`gantry why`). */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Time } from '../common/values.ts';
import { NodeLease } from './node-lease.ts';
import { area, base, errors, readers } from './route-parts.ts';

export const whyKinds = ['bot', 'node', 'delivery', 'run'] as const;

export const WhySubject = z.strictObject({
  kind: z.enum(whyKinds),
  id: z.string(),
  dagId: z.string().nullable().meta({ description: 'For a node or a run.' }),
  title: z.string().meta({ description: 'Address of a bot, or title of a node or run.' }),
});
export type WhySubject = z.infer<typeof WhySubject>;

export const Why = z
  .strictObject({
    subject: WhySubject,
    sentence: z.string().meta({ description: 'One sentence: what the state is, and why.' }),
    since: Time.nullable().meta({ description: 'Since when.' }),
    because: z
      .array(WhySubject)
      .meta({ description: 'The causes that the sentence names, nearest first; each can be asked about in turn.' }),
    receipts: z.array(z.string()).meta({ description: 'Ledger ids of the facts in the sentence.' }),
    lease: NodeLease.optional().meta({ description: 'Of a step that a bot or a watched command is at work on.' }),
  })
  .meta({ id: 'Why' });
export type Why = z.infer<typeof Why>;

export const explainWhy = defineRoute({
  op: 'explainWhy',
  area,
  errors,
  summary: 'Explains the state of a bot, a node, a delivery or a run in one sentence',
  method: 'GET',
  path: `${base}/why/:id`,
  auth: readers,
  scope: 'agents:read',
  owner: { none: 'looked up among the caller’s own; anything else is not found' },
  params: z.strictObject({
    id: Id.meta({ description: 'Address or id of a bot, or the id of a node, a delivery or a run.' }),
  }),
  query: z.strictObject({
    run: Id.optional().meta({ description: 'The run that the step belongs to.' }),
  }),
  answers: { 200: Why },
});

export const whyRoutes = [explainWhy] as const;
