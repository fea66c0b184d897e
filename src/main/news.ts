/** Which rows of the notifications' feed become a native notification, each at most once. Pure but for its own memory. */
import { visibleLine } from '../contracts/approvals/visible.ts';
import type { DesktopSettings } from '../contracts/desktop/channels.ts';
import { inboxLink } from '../contracts/notifications/inbox-link.ts';
import type { Notification } from '../contracts/notifications/routes.ts';

interface NewsView {
  readonly choice: DesktopSettings['notifications'];
  /** A window of ours has the focus: the page itself says what is new. */
  readonly watched: boolean;
}

/** Older ones are history, not news: after a sleep of a day nobody wants a hundred of them. */
export const freshMs = 10 * 60_000;
/** More than this at once are shown as one. */
export const maxConcurrent = 3;
const remembered = 500;

interface News {
  /** Rows to show now, oldest first. What was there at the first look is not new. */
  take(rows: readonly Notification[], view: NewsView): readonly Notification[];
}

export function createNews(now: () => number): News {
  let known: Set<string> | null = null;
  return {
    take(rows, { choice, watched }) {
      const first = known === null;
      const seen = known ?? new Set<string>();
      known = seen;
      const told: Notification[] = [];
      for (const row of [...rows].reverse()) {
        if (seen.has(row.id)) continue;
        // Whether another device takes it is not known yet: looked at again.
        if (!first && choice === 'unless-pushed' && row.outcome === 'claimed') continue;
        seen.add(row.id);
        const pushed = choice === 'unless-pushed' && row.outcome === 'sent';
        const fresh = now() - Date.parse(row.at) < freshMs;
        if (first || choice === 'none' || watched || pushed || !fresh || row.readAt !== null) continue;
        told.push(row);
      }
      for (const id of seen) {
        if (seen.size <= remembered) break;
        seen.delete(id);
      }
      return told;
    },
  };
}

/** What a person is asked, all of it. */
interface Question {
  readonly id: string;
  readonly summary: string;
  readonly details?: readonly { readonly name: string; readonly text: string }[] | undefined;
  readonly reason?: string | undefined;
}

interface Shown {
  readonly title: string;
  readonly body: string;
  /** A path of our origin. */
  readonly url: string;
  /** The approval that its buttons answer; null: it has none. */
  readonly answers: string | null;
}

/** Characters of a body that systems show whole: nobody approves a command of which they saw a part. */
const maxAsked = 200;

/** A few as they are; many as one that leads to the inbox. `open`: the approvals that wait. */
export function shownAs(rows: readonly Notification[], open: readonly Question[]): readonly Shown[] {
  if (rows.length <= maxConcurrent) return rows.map((row) => shownOf(row, open));
  const names = rows.map(({ title }) => title);
  const body = names.slice(0, maxConcurrent).join('\n');
  return [{ title: `${rows.length} new notifications`, body, url: '/inbox', answers: null }];
}

function shownOf({ title, body, url, event, approvalId }: Notification, open: readonly Question[]): Shown {
  if (event !== 'approval.requested') return { title, body, url, answers: null };
  const question = open.find(({ id }) => id === approvalId);
  const whole = question === undefined ? null : wholeOf(body, question);
  // The inbox has its card.
  if (question === undefined || whole === null) return { title, body, url: inboxLink(approvalId), answers: null };
  return { title, body: whole, url: inboxLink(approvalId), answers: question.id };
}

/** One line each, so that no command can pass for one with a reason. Null: too much to be shown whole. */
function wholeOf(body: string, { summary, details = [], reason }: Question): string | null {
  const asked = visibleLine(summary);
  const text = [
    body,
    // Some titles are complete: `asks to run: npm test`.
    ...(body.includes(asked) ? [] : [asked]),
    ...details.map((one) => `${one.name}: ${visibleLine(one.text)}`),
    ...(reason === undefined ? [] : [`Its reason: ${visibleLine(reason)}`]),
  ].join('\n');
  return text.length > maxAsked || text.split('\n').length > 4 ? null : text;
}
