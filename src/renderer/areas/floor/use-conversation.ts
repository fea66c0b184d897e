/** What a bot without a terminal said and did, read as it grows: first the newest entries, then what changed. Must not know how it is drawn. */
import { useQuery } from '@tanstack/react-query';
import { useCallback, useEffect, useRef } from 'react';
import type { ConversationEntry, ConversationModes } from '../../../contracts/factory/conversation-routes.ts';
import type { PlacedBot } from '../../base/data/places.ts';
import { isLive } from '../../base/is-live.ts';
import { useServices } from '../../base/services.tsx';

interface ShownConversation {
  readonly entries: readonly ConversationEntry[];
  readonly modes: ConversationModes | null;
  /** There are older entries. */
  readonly more: boolean;
}

/** No event reports each piece, so a turn is looked at again this often, in ms. */
const lookAgainMs = 1000;

export function useConversation(agent: PlacedBot) {
  const { api } = useServices();
  const known = useRef<{ rev: number | undefined; bySeq: Map<number, ConversationEntry>; more: boolean }>({
    rev: undefined,
    bySeq: new Map(),
    more: false,
  });
  const shown = (modes: ConversationModes | null): ShownConversation => {
    const { bySeq, more } = known.current;
    return { entries: [...bySeq.values()].sort((a, b) => a.seq - b.seq), modes, more };
  };
  const read = useQuery({
    queryKey: ['conversation', agent.id],
    queryFn: async ({ signal }) => {
      for (;;) {
        const { rev: after, bySeq } = known.current;
        const page = await api.factory.agentConversation({ params: { id: agent.id }, query: { after } }, { signal });
        for (const entry of page.entries) bySeq.set(entry.seq, entry);
        known.current.rev = page.rev;
        if (after === undefined) known.current.more = page.more;
        if (after === undefined || !page.more) return shown(page.modes);
      }
    },
    refetchInterval: isLive(agent) && agent.state !== 'idle' ? lookAgainMs : false,
  });
  const { refetch } = read;
  const { state, since } = agent;
  // biome-ignore lint/correctness/useExhaustiveDependencies: a state that changes is why there may be more
  useEffect(() => void refetch(), [refetch, state, since]);
  const readOlder = useCallback(async () => {
    const first = Math.min(...known.current.bySeq.keys());
    const page = await api.factory.agentConversation({ params: { id: agent.id }, query: { before: first } });
    for (const entry of page.entries) known.current.bySeq.set(entry.seq, entry);
    known.current.more = page.more;
    await refetch();
  }, [api, agent.id, refetch]);
  return { read, readOlder };
}
