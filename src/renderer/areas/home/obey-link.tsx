/**
 * Links of notifications: `/?allternit_thread=<thread>&bot=<bot>` and `/?allternit_channel=<provider>`. Both lead to
 * the pane of the bot that the thread belongs to; the address is then cleaned, so that Back does not repeat it.
 */
import { useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect } from 'react';
import { toast } from 'sonner';
import { useFloors, useFloorsComplete } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { describeProblem } from '../../ui/describe-problem.ts';

export function ObeyLink() {
  const search = useSearch({ from: '/' });
  const { connections, paneRequests } = useServices();
  const complete = useFloorsComplete();
  const floors = useFloors();
  const scopes = floors.flatMap(({ place }) => (place.away ? [] : [place.scope ?? '']));
  const linked = scopes.join(' ');
  const client = useQueryClient();
  const navigate = useNavigate();
  const { allternit_thread: threadId, allternit_channel: provider, bot } = search;

  useEffect(() => {
    if (!complete || (threadId === undefined && provider === undefined)) return;
    let cancelled = false;
    const open = (botId: string): void => {
      paneRequests.add({ botId, paneId: null, originView: 'home' });
      void navigate({ to: '/floor', search: { bot: botId }, replace: true });
    };
    const find = async (): Promise<void> => {
      let botId: string | null = null;
      for (const scope of linked.split(' ')) {
        const { threads } = await client.fetchQuery(connections.on(scope === '' ? null : scope).queries.threads);
        if (cancelled) return;
        const thread = threads.find((one) =>
          threadId === undefined ? one.channel?.provider === provider : one.id === threadId,
        );
        botId = thread?.botId ?? null;
        if (botId !== null) break;
      }
      botId ??= bot ?? null;
      if (botId !== null) return open(botId);
      void navigate({ to: '/', search: {}, replace: true });
      toast(
        threadId === undefined
          ? `No conversation through ${provider} yet.`
          : `Thread ${threadId} was not found on ${linked === '' ? 'this computer' : 'any linked computer'}.`,
      );
    };
    find().catch((error: unknown) => {
      if (!cancelled) toast.error(describeProblem(error).fact);
    });
    return () => {
      cancelled = true;
    };
  }, [threadId, provider, bot, complete, linked, connections, client, navigate, paneRequests]);
  return null;
}
