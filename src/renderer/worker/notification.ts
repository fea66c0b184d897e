/**
 * A push and an answered button as notifications: what is written, and what its buttons are. Pure, without the schemas: a worker is
 * woken for one push and should start at once. Must not know how a notification is shown.
 */
import { inboxLink } from '../../contracts/notifications/inbox-link.ts';
import type { PushPayload } from '../../contracts/notifications/push.ts';

type Decision = 'approve' | 'reject';

export interface Shown {
  readonly title: string;
  readonly options: {
    readonly body: string;
    readonly tag: string;
    /** Sounds again when it takes the place of another with its tag. */
    readonly renotify: boolean;
    /** A question stays until it is answered or closed. */
    readonly requireInteraction: boolean;
    readonly actions: readonly { readonly action: Decision; readonly title: string }[];
    readonly data: ShownData;
  };
}

/** Kept in the notification: all that its click has to go by. */
export interface ShownData {
  /** A path of this origin. */
  readonly url: string;
  /** Of the question; null: it has no buttons. */
  readonly token: string | null;
  /** What was asked, to say what was answered. */
  readonly asked: string;
}

const buttons = [
  { action: 'approve', title: 'Approve' },
  { action: 'reject', title: 'Reject' },
] as const;

/** A browser takes the right to push away from a page that shows nothing for one: what cannot be read is shown too. */
const unreadable: Shown = {
  title: 'Something happened in Gantry',
  options: {
    body: 'Open it to see what.',
    tag: 'gantry',
    renotify: false,
    requireInteraction: false,
    actions: [],
    data: { url: '/inbox', token: null, asked: '' },
  },
};

export function notificationOf(text: string | null): Shown {
  const payload = read(text);
  if (payload === null) return unreadable;
  const { title, body, tag, url } = payload;
  const { approvalId } = payload.data;
  const token = payload.data.event === 'approval.requested' ? (payload.data.approve ?? null) : null;
  return {
    title,
    options: {
      body,
      tag,
      renotify: true,
      requireInteraction: token !== null,
      actions: token === null ? [] : buttons,
      // The link of a push names a conversation at most; a question has its place in the inbox.
      data: { url: approvalId === undefined ? ownPath(url) : inboxLink(approvalId), token, asked: body },
    },
  };
}

function read(text: string | null): PushPayload | null {
  try {
    const value = JSON.parse(text ?? '') as Partial<PushPayload> | null;
    const texts = [value?.title, value?.body, value?.tag, value?.url, value?.data?.event];
    return texts.every((one) => typeof one === 'string') ? (value as PushPayload) : null;
  } catch {
    return null;
  }
}

/** A push leads nowhere but into this page. */
export const ownPath = (url: unknown): string =>
  typeof url === 'string' && url.startsWith('/') && !url.startsWith('//') ? url : '/';

export const isDecision = (action: string): action is Decision => action === 'approve' || action === 'reject';

/** What takes the place of a question whose button was pressed. `again`: nothing was answered, and it may be tried once more. */
type Answered =
  | { readonly kind: 'done'; readonly title: string; readonly body: string }
  | { readonly kind: 'over'; readonly title: string; readonly body: string }
  | { readonly kind: 'again'; readonly title: string; readonly body: string };

/** `answer` null: nobody could be reached. */
export function outcomeOf(
  decision: Decision,
  asked: string,
  answer: { readonly status: number; readonly message: string } | null,
): Answered {
  if (answer === null) {
    return { kind: 'again', title: 'Not answered: Gantry cannot be reached', body: asked };
  }
  const { status, message } = answer;
  if (status === 200) return { kind: 'done', title: decision === 'approve' ? 'Approved' : 'Rejected', body: asked };
  if (status === 409) return { kind: 'over', title: 'Already answered', body: message || asked };
  if (status === 410 || status === 404) return { kind: 'over', title: 'Too late to answer', body: message || asked };
  return { kind: 'again', title: 'Not answered', body: message || `Gantry answered ${status}.` };
}

/** The question as it is after its button was pressed. */
export function answered(outcome: Answered, before: { readonly tag: string; readonly data: ShownData }): Shown {
  const again = outcome.kind === 'again';
  return {
    title: outcome.title,
    options: {
      body: outcome.body,
      tag: before.tag,
      // The person has just pressed a button: only what went wrong calls them again.
      renotify: again,
      requireInteraction: again,
      actions: again ? buttons : [],
      data: { ...before.data, token: again ? before.data.token : null },
    },
  };
}
