/** Announces at once that a bot or a question in the inbox needs the person: in a toast with a link, and in the window's title. */
import { useQuery } from '@tanstack/react-query';
import { useLocation, useNavigate } from '@tanstack/react-router';
import { Hand } from 'lucide-react';
import { useEffect, useMemo, useRef } from 'react';
import { toast } from 'sonner';
import type { Approval } from '../../contracts/approvals/approval.ts';
import type { Agent } from '../../contracts/factory/agent.ts';
import { useLaterEnds, usePendingApprovals } from '../base/approvals.ts';
import { useBots, useFloors, useFloorsComplete } from '../base/floors.tsx';
import { needsPerson } from '../base/needs-person.ts';
import { useServices } from '../base/services.tsx';
import { useWaiting } from '../base/use-waiting.ts';
import { dispatchWindowEvent } from '../base/window-events.ts';
import { isPending } from '../ui/approval-words.ts';

const noApprovals: readonly Approval[] = [];

/** While no stream tells of questions; ms. */
const approvalsEvery = 5000;

export function AnnounceNeeds() {
  const complete = useFloorsComplete();
  const bots = useBots();
  const agents = complete ? bots : undefined;
  const waiting = useWaiting();
  const page = useLocation({ select: ({ pathname }) => pageName(pathname) });
  const count = waiting.approvals + waiting.steps + waiting.bots;
  useEffect(() => {
    document.title = [...(count === 0 ? [] : [`(${count})`]), ...(page === null ? [] : [`${page} ·`]), 'Gantry'].join(
      ' ',
    );
  }, [count, page]);
  useAnnounceApprovals(agents);
  const pending = usePendingApprovals();
  const asking = useMemo(() => new Set(pending.map((one) => one.agentId)), [pending]);
  /** The last need announced for each bot; null before the first list, which is not news. */
  const told = useRef<Map<string, string> | null>(null);
  useEffect(() => {
    if (agents === undefined) return;
    const before = told.current;
    // The reason comes a moment after the state: until then there is nothing to say.
    const now = agents.filter((agent) => !agent.place.away && needsPerson(agent) && agent.stateReason !== null);
    told.current = new Map(now.map((agent) => [agent.id, agent.stateReason ?? '']));
    if (before === null) return;
    for (const agent of now) {
      // Its question is in the inbox and is announced from there.
      if (before.get(agent.id) === agent.stateReason || asking.has(agent.id)) continue;
      toast(`${agent.address} ${agent.state === 'blocked' ? 'is blocked' : 'needs you'}`, {
        id: `need ${agent.id}`,
        description: agent.stateReason,
        icon: <Hand className="size-4 text-need" aria-hidden="true" />,
        action: {
          label: 'Open pane',
          onClick: () =>
            dispatchWindowEvent('platform:factory-attach-pane', {
              paneId: agent.pane?.id ?? agent.id,
              botId: agent.id,
              originView: 'floor',
            }),
        },
      });
    }
  }, [agents, asking]);
  return null;
}

/** How far below its upper edge a card is looked for, px: where its title is. */
const atTitle = 16;

/**
 * Whether the person sees its card: not one that is scrolled away or lies behind a dialog. A card dismisses the toast as it comes into view; one that is
 * there before the toast cannot.
 */
function isInView(id: string): boolean {
  const card = document.querySelector(`[data-approval="${CSS.escape(id)}"]`);
  if (card === null) return false;
  const { left, top, width, height } = card.getBoundingClientRect();
  return card.contains(document.elementFromPoint(left + width / 2, top + Math.min(atTitle, height / 2)));
}

/** Of the first part of an address, which is what the rail calls the page; null: the home page. */
function pageName(pathname: string): string | null {
  const [, first = ''] = pathname.split('/');
  return first === '' ? null : first.charAt(0).toUpperCase() + first.slice(1);
}

/** A toast for each question that comes while the page is open; it goes when the question is answered, from wherever. */
function useAnnounceApprovals(agents: readonly Agent[] | undefined): void {
  const { queries } = useServices();
  const navigate = useNavigate();
  // The computer of the page streams new questions. Without it, or while it is away, they have to be polled.
  const streamed = useFloors().some(({ place }) => place.scope === null && !place.away);
  const approvals = useQuery({ ...queries.approvals, refetchInterval: streamed ? false : approvalsEvery }).data
    ?.approvals;
  useLaterEnds(approvals ?? noApprovals);
  const told = useRef<Set<string> | null>(null);
  useEffect(() => {
    if (approvals === undefined) return;
    const before = told.current;
    const pending = approvals.filter((one) => isPending(one, Date.now()));
    told.current = new Set(pending.map((one) => one.id));
    for (const id of before ?? []) if (!told.current.has(id)) toast.dismiss(`approval ${id}`);
    if (before === null || window.location.pathname === '/inbox') return;
    for (const approval of pending) {
      // Its card may stand on this page already, and a toast would cover it.
      if (before.has(approval.id) || isInView(approval.id)) continue;
      const who = agents?.find((one) => one.id === approval.agentId)?.address;
      toast(who === undefined ? 'Waiting for your approval' : `${who} asks for approval`, {
        id: `approval ${approval.id}`,
        description: approval.title,
        icon: <Hand className="size-4 text-need" aria-hidden="true" />,
        action: { label: 'Answer', onClick: () => void navigate({ to: '/inbox', search: { approval: approval.id } }) },
      });
    }
  }, [approvals, agents, navigate]);
}
