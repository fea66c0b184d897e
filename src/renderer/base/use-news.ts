/** The person's notifications, and how many of them nobody has read. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { newsOf } from './data/news.ts';
import { useServices } from './services.tsx';

/** The page's stream does not report notifications, so they are polled; ms. */
const notificationsEvery = 10_000;

export function useNotifications() {
  const { queries } = useServices();
  return useInfiniteQuery({ ...queries.notifications, refetchInterval: notificationsEvery });
}

export function useUnread(): number {
  const { data } = useNotifications();
  return data === undefined ? 0 : newsOf(data).unread;
}
