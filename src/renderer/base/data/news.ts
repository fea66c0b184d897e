/** Notifications as the inbox lists them, without questions, which the inbox shows above them. Pure. */
import type { Notification } from '../../../contracts/notifications/routes.ts';

/** Before more is asked for: below stands what was answered. */
export const firstRows = 8;
/** One request marks no more. */
const maxMarked = 200;

/** Of what was read so far. */
interface News {
  readonly rows: readonly Notification[];
  /** How many there are, also of those that were not read. */
  readonly total: number;
  readonly unread: number;
  /** Unread notifications of questions: seen as soon as the inbox is. */
  readonly questions: readonly string[];
}

export interface NewsPage {
  readonly notifications: readonly Notification[];
  readonly total: number;
  readonly unread: number;
  readonly questions: { readonly total: number; readonly unread: number };
}

const isQuestion = (one: Notification): boolean =>
  one.event === 'approval.requested' || one.event === 'approval.resolved';

export function newsOf({ pages }: { readonly pages: readonly NewsPage[] }): News {
  const known = [...new Map(pages.flatMap((page) => page.notifications).map((one) => [one.id, one])).values()];
  const counts = pages[0];
  return {
    rows: known.filter((one) => !isQuestion(one)),
    total: counts === undefined ? 0 : counts.total - counts.questions.total,
    unread: counts === undefined ? 0 : counts.unread - counts.questions.unread,
    questions: idsOf(known.filter(isQuestion)),
  };
}

/** What marks these read, a request each: what the person was not shown stays unread. */
export function marksOf(shown: readonly Notification[]): string[][] {
  return portions(idsOf(shown));
}

const idsOf = (list: readonly Notification[]): string[] =>
  list.filter(({ readAt }) => readAt === null).map(({ id }) => id);

export function portions(ids: readonly string[]): string[][] {
  return Array.from({ length: Math.ceil(ids.length / maxMarked) }, (_, at) =>
    ids.slice(at * maxMarked, (at + 1) * maxMarked),
  );
}
