/**
 * Reports of bots: what a bot says about its work. A bot's own program first keeps each one as a file in the bot's spool, then asks the engine to
 * take it; a report that nobody took stays there until the engine is back.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id, Paging, Time } from '../common/values.ts';
import { area, base, errors, people } from './route-parts.ts';

/**
 * Operations that are kept. Whatever asks a question, or needs the answer to continue, is not among them. `sendMessage` only to a channel: a reply
 * in a thread.
 */
export const reportOps = [
  'agentHook',
  'progressNode',
  'doneNode',
  'failNode',
  'uploadProof',
  'sendMessage',
  'sendMail',
  'draftPlan',
  'refinePlan',
  'discardPlan',
  'releaseLease',
] as const;
export type ReportOp = (typeof reportOps)[number];

/** Wire code of a report about a step that was given to another bot, or again, in the meantime. */
export const staleReport = 'stale_report';

/** What a verb of a bot answers when nobody could take its report. */
export const KeptAnswer = z.strictObject({ kept: z.literal(true), id: z.string() });
export type KeptAnswer = z.infer<typeof KeptAnswer>;

export const takeReport = defineRoute({
  op: 'takeReport',
  area,
  errors,
  summary:
    'Takes a report from the spool of the calling bot, after the older ones; answers or refuses as the operation itself does',
  method: 'POST',
  path: `${base}/reports`,
  auth: ['bot'],
  scope: null,
  owner: { none: 'the bot token names the bot' },
  body: z.strictObject({ id: Id }),
  answers: {
    200: z.strictObject({
      id: z.string(),
      answer: z
        .unknown()
        .meta({ description: 'The answer of the operation; null when it was taken earlier and nobody waited for it.' }),
    }),
  },
});

export const reportOutcomes = ['applied', 'refused', 'stale'] as const;

const Report = z.strictObject({
  id: z.string(),
  agentId: z.string(),
  op: z.string().meta({ description: 'The operation that it asked for.' }),
  dagId: z.string().nullable(),
  nodeId: z.string().nullable().meta({ description: 'The step that it names; null for a report about no step.' }),
  at: Time.meta({ description: 'When the bot wrote it, by the clock of its program.' }),
  takenAt: Time,
  outcome: z
    .enum(reportOutcomes)
    .meta({ description: 'stale: its step was given to another bot, or again, in the meantime; nothing changed.' }),
  why: z.string().nullable().meta({ description: 'Why it was refused.' }),
});
export type Report = z.infer<typeof Report>;

export const listReports = defineRoute({
  op: 'listReports',
  area,
  errors,
  summary: 'Lists the reports of bots that were taken in the last 30 days, newest first; hooks are not among them',
  method: 'GET',
  path: `${base}/reports`,
  auth: people,
  scope: 'agents:read',
  owner: 'collection',
  query: z.strictObject({
    agent: z.string().max(200).optional().meta({ description: 'Only of this bot (id, address or name).' }),
    outcome: z.enum(reportOutcomes).optional().meta({ description: 'Only with this outcome.' }),
    ...Paging,
  }),
  answers: { 200: z.strictObject({ reports: z.array(Report), nextCursor: z.string().nullable() }) },
});

export const reportRoutes = [takeReport, listReports] as const;
