/**
 * Every type of event of the backbone, with its words for a person and its data. It is the only list: preferences, the push sink and the forwarding
 * of events all read it. Must not know who emits and who listens.
 */
import { z } from 'zod';

const about = {
  botId: z.string().max(200).optional(),
  botName: z.string().max(200).optional(),
  threadId: z.string().max(200).optional(),
};
const id = z.string().min(1).max(200);
const title = z.string().max(500);

export interface EventType {
  readonly type: string;
  readonly title: string;
  readonly description: string;
  /** Whether it is pushed by default. */
  readonly default: boolean;
  /** False: within the platform only; no preference, no notification, and no computer may send it. */
  readonly notifiable: boolean;
  /** Only the cloud emits it: a computer that sent one would invent it, or be there before the cloud. */
  readonly cloudOnly?: true;
  readonly payload: z.ZodObject;
}

const approval = {
  ...about,
  approvalId: id,
  kind: z.string().max(60),
  title,
  risk: z.string().max(20),
  source: z.string().max(40),
};
const subscription = { ...about, subscriptionId: id, connectorId: id, name: z.string().max(200) };

/** Notification preferences list the types in this order. */
const notifiable = [
  {
    type: 'approval.requested',
    title: 'A bot asks for approval',
    description: 'Something waits until you approve or reject it.',
    default: true,
    cloudOnly: true,
    payload: z.strictObject(approval),
  },
  {
    type: 'approval.resolved',
    title: 'An approval was answered',
    description: 'You, or somebody for you, approved, rejected or withdrew an approval.',
    default: false,
    cloudOnly: true,
    payload: z.strictObject({ ...approval, decision: z.enum(['approve', 'reject']).nullable().optional() }),
  },
  {
    type: 'agent.run.completed',
    title: 'A run has ended',
    description: 'A hosted bot, a job of a rule or a run ended, well or badly.',
    default: false,
    payload: z.strictObject({ ...about, runId: id, status: z.string().max(40), title }),
  },
  {
    type: 'thread.needs_user',
    title: 'A bot needs you',
    description: 'A bot or a step of a run cannot continue without you.',
    default: true,
    payload: z.strictObject({
      ...about,
      reason: z.string().max(500),
      dagId: id.optional(),
      nodeId: id.optional(),
    }),
  },
  {
    type: 'message.received',
    title: 'A message arrived',
    description: 'Somebody wrote to one of your bots through a channel such as text messages.',
    default: true,
    payload: z.strictObject({
      ...about,
      messageId: id,
      provider: z.string().max(40).optional(),
      from: z.string().max(200),
      text: z.string().max(20_000),
    }),
  },
  {
    type: 'call.ended',
    title: 'A call has ended',
    description: 'A phone call with one of your bots ended or was missed.',
    default: true,
    payload: z.strictObject({
      ...about,
      callId: id,
      numberId: id,
      durationSec: z.number().min(0),
      missed: z.boolean(),
    }),
  },
  {
    type: 'inbox.item.created',
    title: 'A bot wrote to your inbox',
    description: 'A bot sent you mail.',
    default: false,
    payload: z.strictObject({ ...about, itemId: id, title }),
  },
  {
    type: 'vendor.ticket.created',
    title: 'A ticket for a vendor’s bot',
    description: 'A ticket waits for a bot that runs in somebody else’s app.',
    default: false,
    payload: z.strictObject({ ...about, ticketId: id, title }),
  },
  {
    type: 'subscription.login_needed',
    title: 'A connector needs you to sign in',
    description: 'A connector’s events have stopped until you sign in again.',
    default: true,
    payload: z.strictObject(subscription),
  },
  {
    type: 'subscription.signed_in',
    title: 'A connector is signed in again',
    description: 'A connector’s events have resumed.',
    default: false,
    payload: z.strictObject(subscription),
  },
  {
    type: 'usage.threshold',
    title: 'Spending reached your budget alert',
    description: 'Your spending this month crossed the alert level of your budget, or the whole budget.',
    default: true,
    cloudOnly: true,
    payload: z.strictObject({
      ...about,
      month: z.string().regex(/^\d{4}-\d{2}$/, 'a month such as 2026-01'),
      level: z.number().int(),
      percent: z.number().int(),
      spentCents: z.number(),
      budgetCents: z.number().int(),
    }),
  },
] as const satisfies readonly Omit<EventType, 'notifiable'>[];

export type NotifiableEvent = (typeof notifiable)[number]['type'];
/** The data of an event, by its type. */
export type EventData<T extends NotifiableEvent> = z.infer<
  Extract<(typeof notifiable)[number], { type: T }>['payload']
>;

export const notifiableEvents: readonly (EventType & { readonly type: NotifiableEvent })[] = notifiable.map(
  (event) => ({
    ...event,
    notifiable: true,
  }),
);

const platformEvents: readonly EventType[] = [
  {
    type: 'message.status',
    title: 'The status of a message',
    description: 'A message that was sent through a channel was delivered or failed.',
    default: false,
    notifiable: false,
    payload: z.strictObject({ ...about, messageId: id, status: z.string().max(40) }),
  },
];

export const eventRegistry: readonly EventType[] = [...notifiableEvents, ...platformEvents];

export const notifiableEventNames = notifiable.map((event) => event.type) as [NotifiableEvent, ...NotifiableEvent[]];

export function findNotifiable(type: string): (EventType & { readonly type: NotifiableEvent }) | null {
  return notifiableEvents.find((event) => event.type === type) ?? null;
}
