/** Which rows of the notifications' feed become a native notification, each at most once. Pure but for its own memory. */
import type { DesktopSettings } from '../contracts/desktop/channels.ts';
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

interface Shown {
  readonly title: string;
  readonly body: string;
  /** A path of our origin. */
  readonly url: string;
}

/** A few as they are; many as one that leads to the inbox. */
export function shownAs(rows: readonly Notification[]): readonly Shown[] {
  if (rows.length <= maxConcurrent) return rows.map(({ title, body, url }) => ({ title, body, url }));
  const names = rows.map(({ title }) => title);
  return [{ title: `${rows.length} new notifications`, body: names.slice(0, maxConcurrent).join('\n'), url: '/inbox' }];
}
