/** How many notifications nobody has read. */
import { useQuery } from '@tanstack/react-query';
import { useServices } from './services.tsx';

/** What the backbone takes in is told by no event of the page's stream; ms. */
export const notificationsEvery = 15_000;

export function useNotifications() {
  const { queries } = useServices();
  return useQuery({ ...queries.notifications, refetchInterval: notificationsEvery });
}

export const useUnread = (): number => useNotifications().data?.unread ?? 0;
