/** Mail: every bot and the person have an inbox. Mail is never typed into a pane; the recipient reads it when ready. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { Paging, QueryFlag, Time } from '../../common/values.ts';
import { area, base, errors } from '../route-parts.ts';
import { act, dryRun, look, oneOf, Party, planned } from './parts.ts';

const head = {
  id: z.string(),
  from: Party,
  to: Party.meta({ description: 'Address of a bot, or "owner".' }),
  subject: z.string(),
  at: Time,
  readAt: Time.nullable(),
  inReplyTo: z.string().nullable(),
};
export const Mail = z.strictObject({ ...head, text: z.string() }).meta({ id: 'Mail' });
export type Mail = z.infer<typeof Mail>;
export const MailSummary = z
  .strictObject({ ...head, preview: z.string().meta({ description: 'The first 200 characters.' }) })
  .meta({ id: 'MailSummary' });
export type MailSummary = z.infer<typeof MailSummary>;

export const MailRequest = z.strictObject({
  to: Party,
  subject: z.string().min(1).max(200),
  text: z.string().min(1).max(65_536),
  inReplyTo: z.string().max(200).optional(),
  dryRun,
});
export type MailRequest = z.infer<typeof MailRequest>;

export const listMail = defineRoute({
  op: 'listMail',
  area,
  errors,
  summary: 'Lists an inbox, newest first: the caller’s own; the person may read any bot’s',
  ...look,
  path: `${base}/mail`,
  owner: 'collection',
  query: z.strictObject({
    bot: z.string().max(200).optional(),
    box: z.enum(['in', 'out']).optional(),
    unread: QueryFlag,
    ...Paging,
  }),
  answers: {
    200: z.strictObject({
      mail: z.array(MailSummary),
      unread: z.number().int().meta({ description: 'Number of unread mails in this inbox.' }),
      nextCursor: z.string().nullable(),
    }),
  },
});

export const readMail = defineRoute({
  op: 'readMail',
  area,
  errors,
  summary: 'Reads one mail in full',
  ...look,
  path: `${base}/mail/:id`,
  ...oneOf('mail'),
  answers: { 200: Mail },
});

export const markMailRead = defineRoute({
  op: 'markMailRead',
  area,
  errors,
  summary: 'Marks a mail as read by its recipient',
  ...act,
  path: `${base}/mail/:id/read`,
  ...oneOf('mail'),
  body: z.strictObject({ dryRun }),
  answers: { 200: z.union([Mail, planned({ id: z.string() })]) },
});

export const sendMail = defineRoute({
  op: 'sendMail',
  area,
  errors,
  summary: 'Sends a mail to an inbox',
  ...act,
  path: `${base}/mail`,
  owner: { none: 'the address is resolved among the caller’s own bots' },
  idempotent: true,
  body: MailRequest,
  answers: { 201: Mail, 200: planned({ from: Party, to: Party, subject: z.string() }) },
});
