/** Notifications as the inbox lists them: without questions, which stand above them themselves. Pure. */
import type { Notification } from '../../contracts/notifications/routes.ts';

export interface News {
  readonly rows: readonly Notification[];
  readonly unread: number;
  /** Unread notifications of questions: seen as soon as the inbox is. */
  readonly questions: readonly string[];
}

const isQuestion = (one: Notification): boolean =>
  one.event === 'approval.requested' || one.event === 'approval.resolved';

export function newsOf(data: { readonly notifications: readonly Notification[]; readonly unread: number }): News {
  const questions = data.notifications.filter((one) => isQuestion(one) && one.readAt === null).map((one) => one.id);
  return {
    rows: data.notifications.filter((one) => !isQuestion(one)),
    unread: Math.max(0, data.unread - questions.length),
    questions,
  };
}
