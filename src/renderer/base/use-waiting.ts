/**
 * How many wait for a person, by the place where each is answered; nothing is counted twice. A bot or a step whose question is in
 * the inbox is counted there.
 */
import { useQuery } from '@tanstack/react-query';
import { usePendingApprovals } from './approvals.ts';
import { useBots } from './floors.tsx';
import { needsPerson } from './needs-person.ts';
import { useServices } from './services.tsx';

interface Waiting {
  readonly approvals: number;
  readonly steps: number;
  readonly bots: number;
}

export function useWaiting(): Waiting {
  const { queries } = useServices();
  const approvals = usePendingApprovals();
  const bots = useBots();
  const campaigns = useQuery(queries.campaigns).data?.campaigns ?? [];
  const askingBots = new Set(approvals.map((one) => one.agentId));
  // Only a step at its gate is itself among those that need somebody; a step whose bot asks is at work.
  const askingSteps = new Set(approvals.flatMap((one) => (one.source === 'workflow' ? (one.nodeId ?? []) : []))).size;
  const steps = campaigns.reduce((sum, campaign) => sum + campaign.needsYou, 0);
  return {
    approvals: approvals.length,
    steps: Math.max(0, steps - askingSteps),
    bots: bots.filter((bot) => !bot.place.away && needsPerson(bot) && !askingBots.has(bot.id)).length,
  };
}
