/** Tickets: work from outside for one bot. Written by connectors, triggers and vendor sends. */
import { z } from 'zod';
import { defineRoute } from '../../common/route.ts';
import { Paging, Time } from '../../common/values.ts';
import { area, base, errors } from '../route-parts.ts';
import { act, dryRun, look, oneOf, planned } from './parts.ts';

export const ticketSources = ['connector', 'webhook', 'vendor'] as const;
export const ticketStatuses = ['open', 'closed'] as const;

export const Ticket = z
  .strictObject({
    id: z.string(),
    botId: z.string(),
    source: z.strictObject({ kind: z.enum(ticketSources), ref: z.string() }),
    title: z.string(),
    data: z.unknown(),
    status: z.enum(ticketStatuses),
    threadId: z.string().nullable(),
    createdAt: Time,
    closedAt: Time.nullable(),
  })
  .meta({ id: 'Ticket' });
export type Ticket = z.infer<typeof Ticket>;

export const listTickets = defineRoute({
  op: 'listTickets',
  area,
  errors,
  summary: 'Lists tickets, newest first; a bot sees its own',
  ...look,
  path: `${base}/tickets`,
  owner: 'collection',
  query: z.strictObject({
    bot: z.string().max(200).optional(),
    status: z.enum(ticketStatuses).optional(),
    ...Paging,
  }),
  answers: { 200: z.strictObject({ tickets: z.array(Ticket), nextCursor: z.string().nullable() }) },
});

export const getTicket = defineRoute({
  op: 'getTicket',
  area,
  errors,
  summary: 'Reads one ticket with its data',
  ...look,
  path: `${base}/tickets/:id`,
  ...oneOf('ticket'),
  answers: { 200: Ticket },
});

export const closeTicket = defineRoute({
  op: 'closeTicket',
  area,
  errors,
  summary: 'Closes a ticket; a closed one stays closed',
  ...act,
  path: `${base}/tickets/:id/close`,
  ...oneOf('ticket'),
  body: z.strictObject({ note: z.string().max(2000).optional(), dryRun }),
  answers: { 200: z.union([Ticket, planned({ id: z.string(), status: z.literal('closed') })]) },
});
