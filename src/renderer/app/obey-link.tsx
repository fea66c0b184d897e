/**
 * Links of notifications: `/?allternit_thread=<thread>&bot=<bot>` and `/?allternit_channel=<provider>` (interface.md F, G).
 * Both lead to the pane of the bot that the thread belongs to; the address is then cleaned, so that Back does not repeat it.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { toast } from 'sonner';
import { describeProblem } from '../data/problem.ts';
import { useServices } from './services.tsx';

export function ObeyLink() {
  const search = useSearch({ from: '/' });
  const { queries, paneRequests } = useServices();
  const client = useQueryClient();
  const navigate = useNavigate();
  const { allternit_thread: threadId, allternit_channel: provider, bot } = search;

  useEffect(() => {
    if (threadId === undefined && provider === undefined) return;
    let cancelled = false;
    const open = (botId: string): void => {
      paneRequests.add({ botId, paneId: null, originView: 'home' });
      void navigate({ to: '/floor', search: { bot: botId }, replace: true });
    };
    const find = async (): Promise<void> => {
      const { threads } = await client.fetchQuery(queries.threads);
      if (cancelled) return;
      const thread = threads.find((one) =>
        threadId === undefined ? one.channel?.provider === provider : one.id === threadId,
      );
      const botId = thread?.botId ?? bot;
      if (botId !== undefined && botId !== null) return open(botId);
      void navigate({ to: '/', search: {}, replace: true });
      toast(
        threadId === undefined
          ? `No conversation came through ${provider} yet.`
          : `Thread ${threadId} is not known on this computer.`,
      );
    };
    find().catch((error: unknown) => {
      if (!cancelled) toast.error(describeProblem(error).fact);
    });
    return () => {
      cancelled = true;
    };
  }, [threadId, provider, bot, queries, client, navigate, paneRequests]);
  return null;
}
