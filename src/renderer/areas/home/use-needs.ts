/**
 * What needs the person now besides questions, from all parts of Gantry, as one list, longest waiting first. Each item says what it is and where
 * it is mended. A part that cannot be read (not set up here) has no needs. Must not know how it is shown.
 */
import { useQuery } from '@tanstack/react-query';
import { usePendingApprovals } from '../../base/approvals.ts';
import type { PlacedBot } from '../../base/data/places.ts';
import { useFloors } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { useWaiting } from '../../base/use-waiting.ts';
import { useNow } from '../../ui/now.tsx';
import { useOpenBot } from '../floor/use-open-bot.ts';
import type { Need } from './need.ts';
import { botNeeds, inOrder, lostNeeds, stepNeeds } from './need-rows.ts';
import { usePartNeeds } from './part-needs.ts';
import { useLead } from './use-lead.ts';

/** `bots`: those that this page shows. */
export function useNeeds(bots: readonly PlacedBot[]): readonly Need[] {
  const { queries } = useServices();
  const lead = useLead();
  const open = useOpenBot('home');
  const now = useNow();
  const approvals = usePendingApprovals();
  const several = useFloors().length > 1;
  const { steps } = useWaiting();
  const campaigns = useQuery(queries.campaigns).data?.campaigns ?? [];
  const deliveries = useQuery(queries.deliveries).data?.deliveries ?? [];
  const parts = usePartNeeds();
  return inOrder([
    ...botNeeds(bots, approvals, several, open),
    ...(steps === 0 ? [] : stepNeeds(campaigns, lead)),
    ...lostNeeds(deliveries, bots, now, lead, open),
    ...parts,
  ]);
}
