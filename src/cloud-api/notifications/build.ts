/**
 * The text, link and tag of an event's notification. Pure: the same for a push and for the list in the app. Must not know rows, devices or
 * preferences.
 */
import type { EventData, NotifiableEvent } from '../../contracts/events/registry.ts';
import { runWordsIn } from '../../contracts/events/run-words.ts';
import type { PushPayload } from '../../contracts/notifications/push.ts';

/** An event, validated when it was stored. */
export interface StoredEvent {
  readonly type: NotifiableEvent;
  readonly data: EventData<NotifiableEvent>;
}

type Words = { readonly title: string; readonly body: string; readonly tag: string };
type Builders = { readonly [T in NotifiableEvent]: (data: EventData<T>, bot: string) => Words };

const builders: Builders = {
  'approval.requested': ({ title, approvalId }, bot) => ({
    title: `${bot} asks for approval`,
    body: title,
    tag: `approval-${approvalId}`,
  }),
  // The same tag as the question: the answer replaces it.
  'approval.resolved': ({ title, approvalId, decision }) => ({
    title: { approve: 'Approved', reject: 'Rejected', none: 'No longer needed' }[decision ?? 'none'],
    body: title,
    tag: `approval-${approvalId}`,
  }),
  'agent.run.completed': ({ runId, status, title, botId }, bot) => {
    const ended = runWords[status] ?? `ended as ${status}`;
    const tag = `run-${runId}`;
    // A run of a template has steps of several bots, or of none, so it is shown by its own name.
    const { name, why } = runWordsIn(title);
    if (botId === undefined && bot === yourBot) return { title: `The run “${name}” ${ended}`, body: why, tag };
    return { title: `${bot} ${ended}`, body: title, tag };
  },
  'thread.needs_user': ({ reason, threadId, botId, dagId, nodeId }, bot) => {
    const tag = `needs-${threadId ?? botId ?? [dagId, nodeId].join('-')}`;
    const ofBot = { title: `${bot} needs you`, body: reason, tag };
    if (dagId === undefined) return ofBot;
    const { name, why } = runWordsIn(reason);
    // A computer with an older Gantry does not name the run.
    if (why === '') return botId === undefined && bot === yourBot ? { ...ofBot, title: 'A run needs you' } : ofBot;
    return botId === undefined && bot === yourBot
      ? { title: `The run “${name}” needs you`, body: why, tag }
      : { ...ofBot, body: `“${name}”, ${why}` };
  },
  'message.received': ({ from, text, ...data }, bot) => ({
    title: `${from} to ${bot === yourBot ? 'your bot' : bot}`,
    body: text,
    tag: messageTag(data),
  }),
  'call.ended': ({ callId, missed, durationSec }, bot) => ({
    title: missed ? `${bot} missed a call` : `${bot} ended a call`,
    body: missed ? 'Nobody answered.' : `It lasted ${duration(durationSec)}.`,
    tag: `call-${callId}`,
  }),
  'inbox.item.created': ({ itemId, title }, bot) => ({
    title: `${bot} wrote to you`,
    body: title,
    tag: `inbox-${itemId}`,
  }),
  'vendor.ticket.created': ({ ticketId, title }, bot) => ({
    title: `${bot} has a new ticket`,
    body: title,
    tag: `ticket-${ticketId}`,
  }),
  'subscription.login_needed': ({ subscriptionId, name }) => ({
    title: `Sign in to ${name} again`,
    body: 'Its events have stopped.',
    tag: `subscription-${subscriptionId}`,
  }),
  'subscription.signed_in': ({ subscriptionId, name }) => ({
    title: `${name} is signed in again`,
    body: 'Its events have resumed.',
    tag: `subscription-${subscriptionId}`,
  }),
  'usage.threshold': ({ month, percent, spentCents, budgetCents }) => ({
    title: `${percent}% of your budget is spent`,
    body: `${dollars(spentCents)} of ${dollars(budgetCents)} in ${month}.`,
    tag: `usage-${month}`,
  }),
};
const runWords: Readonly<Record<string, string>> = {
  done: 'has finished',
  completed: 'has finished',
  degraded: 'has finished with problems',
  failed: 'has failed',
  cancelled: 'was cancelled',
  interrupted: 'was interrupted',
};
const yourBot = 'Your bot';

/** Events that must wake the device. */
export const urgentEvents: ReadonlySet<string> = new Set<NotifiableEvent>(['approval.requested', 'thread.needs_user']);

export function buildNotification({ type, data }: StoredEvent): PushPayload {
  const build = builders[type] as (data: EventData<NotifiableEvent>, bot: string) => Words;
  const { title, body, tag } = build(data, data.botName ?? yourBot);
  return {
    type: type === 'message.received' ? 'message' : 'event',
    title: oneLine(title),
    body,
    url: linkOf(type, data),
    tag,
    data: {
      event: type,
      botId: data.botId ?? null,
      threadId: data.threadId ?? null,
      ...('approvalId' in data ? { approvalId: data.approvalId } : {}),
    },
  };
}

/** Messages of one conversation share a tag: the thread's, otherwise the channel's. */
export function messageTag(data: { readonly threadId?: string; readonly provider?: string }): string {
  if (data.threadId !== undefined) return `msg-${data.threadId}`;
  return `channel-${data.provider ?? 'unknown'}`;
}

function linkOf(type: NotifiableEvent, data: StoredEvent['data']): string {
  const { threadId, botId } = data;
  if (threadId !== undefined && botId !== undefined) {
    return `/?allternit_thread=${encodeURIComponent(threadId)}&bot=${encodeURIComponent(botId)}`;
  }
  const provider = type === 'message.received' ? (data as EventData<'message.received'>).provider : undefined;
  return threadId === undefined && provider !== undefined ? `/?allternit_channel=${encodeURIComponent(provider)}` : '/';
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

function duration(seconds: number): string {
  const whole = Math.round(seconds);
  return whole < 60 ? `${whole} s` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

function dollars(cents: number): string {
  return `$${(cents / 100).toFixed(2)}`;
}
