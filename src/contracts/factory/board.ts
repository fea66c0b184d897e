/** Campaigns and their boards. */
import { z } from 'zod';
import { NodeCard } from './node.ts';
import { RunStatus } from './workflow.ts';

export const campaignStatuses = ['active', 'paused', 'finished'] as const;

export const CampaignSummary = z
  .strictObject({
    id: z.string(),
    projectId: z.string().nullable(),
    title: z.string(),
    intent: z.string(),
    status: z.enum(campaignStatuses),
    proven: z.number().int().meta({ description: 'How many nodes are done.' }),
    total: z.number().int(),
    needsYou: z.number().int(),
  })
  .meta({ id: 'CampaignSummary' });
export type CampaignSummary = z.infer<typeof CampaignSummary>;

const NodeRef = z.strictObject({ dagId: z.string(), nodeId: z.string(), title: z.string() });

/** How many nodes `now` and `next` name at most; the waves have them all. */
export const maxInSummary = 50;

export const Board = z
  .strictObject({
    campaign: CampaignSummary,
    summary: z.strictObject({
      proven: z.strictObject({ k: z.number().int(), n: z.number().int() }),
      needsYou: z.array(NodeRef),
      now: z.array(NodeRef),
      next: z.array(NodeRef),
    }),
    runs: z.array(z.strictObject({ dagId: z.string(), title: z.string(), status: RunStatus })),
    waves: z.array(z.strictObject({ depth: z.number().int(), nodes: z.array(NodeCard) })),
  })
  .meta({ id: 'Board' });
export type Board = z.infer<typeof Board>;
