/** Events on the floor: earlier deliveries, then live events. */
import { useQuery } from '@tanstack/react-query';
import { ShieldQuestion, Users } from 'lucide-react';
import type { ReactNode } from 'react';
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { KnownEvent } from '../../base/data/event-cache.ts';
import type { FeedEntry } from '../../base/data/events.ts';
import { useFeed, useServices } from '../../base/services.tsx';
import { detailWords, witnessWords } from '../../ui/delivery-row.tsx';
import { Empty } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { agentStatus, approvalStatus, deliveryStatus, nodeStatus, Status } from '../../ui/status.tsx';

type TeamChange = Extract<KnownEvent, { type: 'team.changed' }>['data']['change'];
const teamWords: Readonly<Record<TeamChange, string>> = {
  up: 'Started',
  down: 'Stopped',
  file: 'Team file changed',
  invalid: 'Team file is invalid',
};

export function EventFeed({ agents }: { agents: readonly Agent[] }) {
  const { queries } = useServices();
  const feed = useFeed();
  const before = useQuery(queries.deliveries);
  const teams = useQuery(queries.teams).data;
  const waiting = [...(teams?.teams ?? []), ...(teams?.invalid ?? [])].flatMap(({ name, waits }) =>
    waits === undefined ? [] : [name],
  );
  const newest = latestOnly(feed);
  const seen = new Set(newest.map((entry) => (entry.event.type === 'delivery' ? entry.event.data.id : '')));
  const older = (before.data?.deliveries ?? [])
    .filter((delivery) => !seen.has(delivery.id))
    .map((data): { key: string; event: KnownEvent } => ({
      key: data.id,
      event: { type: 'delivery', at: data.at, data },
    }));
  const rows = [...newest, ...older].sort((a, b) => b.event.at.localeCompare(a.event.at));
  if (rows.length === 0) return <Empty>Messages, starts and stops appear here as they happen.</Empty>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <section tabIndex={0} aria-label="Events" className="min-h-0 flex-1 overflow-y-auto py-1">
      <ol>
        {rows.map((row) => (
          <li key={row.key} className="flex flex-col px-3 py-1 text-meta" data-event={row.event.type}>
            <EventRow event={row.event} agents={agents} waiting={waiting} />
          </li>
        ))}
      </ol>
    </section>
  );
}

/**
 * One line for each delivery, with its present state, which implies the earlier ones. A bot whose state was only repeated (its pane could be read
 * again) has no line for it. `feed` is newest first.
 */
function latestOnly(feed: readonly FeedEntry[]): readonly FeedEntry[] {
  const deliveries = new Set<string>();
  const states = new Map<string, string>();
  const kept = new Set<FeedEntry>();
  for (const entry of feed.toReversed()) {
    if (entry.event.type !== 'agent.state') continue;
    const { agentId, state } = entry.event.data;
    if (states.get(agentId) !== state) kept.add(entry);
    states.set(agentId, state);
  }
  return feed.filter((entry) => {
    if (entry.event.type === 'agent.state') return kept.has(entry);
    if (entry.event.type !== 'delivery') return true;
    if (deliveries.has(entry.event.data.id)) return false;
    deliveries.add(entry.event.data.id);
    return true;
  });
}

function Line({ who, at, children }: { who: string; at: string; children: ReactNode }) {
  return (
    <span className="flex items-center gap-2">
      <span className="min-w-0 flex-1 truncate font-medium">{who}</span>
      {children}
      <span className="w-16 shrink-0 text-right text-faint">
        <Ago at={at} />
      </span>
    </span>
  );
}

interface EventRowProps {
  readonly event: KnownEvent;
  readonly agents: readonly Agent[];
  /** Teams whose file waits for its person's yes. */
  readonly waiting: readonly string[];
}

function EventRow({ event, agents, waiting }: EventRowProps) {
  if (event.type === 'agent.state') {
    const agent = agents.find((one) => one.id === event.data.agentId);
    return (
      <Line who={agent?.address ?? event.data.agentId} at={event.at}>
        <Status look={agentStatus[event.data.state]} wire={event.data.state} />
      </Line>
    );
  }
  if (event.type === 'delivery') {
    const agent = agents.find((one) => one.address === event.data.to || one.id === event.data.to);
    const said = witnessWords(event.data.evidence, agent?.binding.harness) ?? detailWords(event.data.detail);
    return (
      <>
        <Line who={agent?.address ?? event.data.to} at={event.at}>
          <Status look={deliveryStatus[event.data.state]} wire={event.data.state} />
        </Line>
        {said !== null && <span className="truncate text-muted">{said}</span>}
      </>
    );
  }
  if (event.type === 'team.changed') {
    const { team, change } = event.data;
    const waits = change === 'file' && waiting.includes(team);
    return (
      <Line who={team} at={event.at}>
        <span className="inline-flex items-center gap-1.5 text-muted" title={change}>
          <Users className="size-3.5" aria-hidden="true" />
          {waits ? 'Team file waits for your yes' : teamWords[change]}
        </span>
      </Line>
    );
  }
  if (event.type === 'trust.changed') {
    const [first] = event.data.waits;
    return (
      <Line who={first ?? 'Workspace'} at={event.at}>
        <span className="inline-flex items-center gap-1.5 text-muted">
          <ShieldQuestion className="size-3.5" aria-hidden="true" />
          {first === undefined ? 'You answered' : 'Waiting for your yes'}
        </span>
      </Line>
    );
  }
  if (event.type === 'node.status') {
    return (
      <Line who={event.data.nodeId} at={event.at}>
        <Status look={nodeStatus[event.data.status]} wire={event.data.status} />
      </Line>
    );
  }
  if (event.type === 'proof.recorded') {
    const look = event.data.outcome === 'proven' ? nodeStatus.done : nodeStatus.failed;
    return (
      <Line who={event.data.nodeId} at={event.at}>
        <Status
          look={{ ...look, word: event.data.outcome === 'proven' ? 'Proof' : 'Rejected' }}
          wire={event.data.outcome}
        />
      </Line>
    );
  }
  return (
    <Line who={event.data.title} at={event.at}>
      <Status look={approvalStatus(event.data, Date.parse(event.at))} wire={event.data.state} />
    </Line>
  );
}
