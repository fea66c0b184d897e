/** Sends, deliveries, threads. */
import { z } from 'zod';
import { Time } from '../common/values.ts';

export const deliveryVias = ['pane', 'pane_queue', 'hosted', 'vendor', 'channel', 'peer', 'acp'] as const;
export const deliveryStates = ['accepted', 'queued', 'verified', 'unconfirmed', 'best_effort', 'failed'] as const;
export const deliveryEvidences = ['hook', 'transcript', 'composer', 'exec', 'model', 'acp'] as const;

export const DeliveryState = z.enum(deliveryStates);
export type DeliveryState = z.infer<typeof DeliveryState>;
export type DeliveryVia = (typeof deliveryVias)[number];
export type DeliveryEvidence = (typeof deliveryEvidences)[number];

export const Delivery = z
  .strictObject({
    id: z.string(),
    to: z.string(),
    from: z.string().optional().meta({ description: 'Who sent it: `owner`, or the address of a bot.' }),
    firstWords: z.string().optional().meta({
      description: 'How the message begins; absent for bots that neither sent nor got it, and in events.',
    }),
    via: z.enum(deliveryVias),
    state: DeliveryState,
    evidence: z.enum(deliveryEvidences).nullable().meta({ description: 'The witness that verified it.' }),
    detail: z
      .string()
      .optional()
      .meta({ description: 'In words: why it is queued, what was not confirmed, or what failed.' }),
    ticket: z.string().optional(),
    messageId: z.string().optional(),
    threadId: z.string().optional(),
    dagId: z.string().optional(),
    nodeId: z.string().optional(),
    at: Time,
  })
  .meta({ id: 'Delivery' });
export type Delivery = z.infer<typeof Delivery>;

export const SendRequest = z
  .strictObject({
    to: z.string().min(1).max(300).meta({ description: 'An address, an agent id, or channel:<thread_id>.' }),
    text: z.string().min(1).max(100_000),
    queue: z.boolean().optional(),
    threadId: z.string().optional(),
    nodeId: z.string().optional(),
    dagId: z.string().optional(),
    idempotencyKey: z.string().min(1).max(255).optional(),
    raw: z.boolean().optional().meta({ description: 'Owner only: type a bare command, without the sender line.' }),
    as: z.string().min(1).max(200).optional().meta({
      description:
        'Id of a vendor’s bot whose app answers in a thread of that bot; `to` must be `channel:<thread_id>`.',
    }),
    dryRun: z.boolean().optional(),
  })
  .meta({ id: 'SendRequest' });
export type SendRequest = z.infer<typeof SendRequest>;

export const SendPlan = z
  .strictObject({
    dryRun: z.literal(true),
    plan: z.strictObject({
      to: z.string(),
      via: z.enum(deliveryVias),
      threadId: z.string().nullable(),
      records: z.array(z.string()),
      ifQueued: z.array(z.string()).optional(),
    }),
  })
  .meta({ id: 'SendPlan' });
export type SendPlan = z.infer<typeof SendPlan>;

export const Thread = z
  .strictObject({
    id: z.string(),
    title: z.string(),
    botId: z.string().nullable(),
    channel: z.strictObject({ provider: z.string(), numberId: z.string(), peer: z.string() }).nullable(),
    lastMessageAt: Time,
    last: z
      .strictObject({
        from: z.string(),
        to: z.string(),
        firstWords: z.string(),
        direction: z.enum(['in', 'out']).meta({ description: '"in" to the bot: it has not answered yet.' }),
      })
      .optional()
      .meta({ description: 'The last message, in lists; absent while nobody wrote.' }),
  })
  .meta({ id: 'Thread' });
export type Thread = z.infer<typeof Thread>;

/** The person whose Gantry this is, as they read of themselves; anybody else by name or address. */
export const partyWords = (name: string): string =>
  name === 'owner' || name.startsWith('owner (') ? name.replace('owner', 'You') : name;

/** Who wrote to whom last, and the first words; null while nobody did. */
export function lastWords({ last }: Thread): string | null {
  return last === undefined ? null : `${partyWords(last.from)} → ${partyWords(last.to)}: ${last.firstWords}`;
}

/** The last message went to the bot, and nothing came back yet. */
export const isUnanswered = ({ botId, last }: Thread): boolean => botId !== null && last?.direction === 'in';

export const Message = z
  .strictObject({
    id: z.string(),
    threadId: z.string(),
    from: z.string(),
    to: z.string(),
    text: z.string(),
    at: Time,
    direction: z.enum(['in', 'out']).meta({ description: '"in" to the bot, "out" from it.' }),
    deliveryId: z.string().optional(),
  })
  .meta({ id: 'Message' });
export type Message = z.infer<typeof Message>;
