/**
 * Reports of bots: what a bot says about its work. A bot's own program first keeps each one as a file in the bot's spool, then asks the engine to
 * take it; a report that nobody took stays there until the engine is back.
 */
import { z } from 'zod';
import { defineRoute } from '../common/route.ts';
import { Id } from '../common/values.ts';
import { area, base, errors } from './route-parts.ts';

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

export const reportRoutes = [takeReport] as const;
