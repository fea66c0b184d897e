/** Events on the floor: earlier deliveries, then live events. */
import { useQuery } from '@tanstack/react-query';
import { KeyRound, ShieldQuestion, Users } from 'lucide-react';
import { memo, type ReactNode, useMemo, useState } from 'react';
import type { Agent } from '../../../contracts/factory/agent.ts';
import type { Delivery } from '../../../contracts/factory/delivery.ts';
import type { KnownEvent } from '../../base/data/event-cache.ts';
import type { FeedEntry } from '../../base/data/events.ts';
import { useFeed, useServices } from '../../base/services.tsx';
import { deliveryParties, detailWords, witnessWords } from '../../ui/delivery-row.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { Empty } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { agentStatus, approvalStatus, deliveryStatus, nodeLook, nodeStatus, Status } from '../../ui/status.tsx';

type TeamChange = Extract<KnownEvent, { type: 'team.changed' }>['data']['change'];
const teamWords: Readonly<Record<TeamChange, string>> = {
  up: 'Started',
  down: 'Stopped',
  file: 'Team file changed',
  invalid: 'Team file is invalid',
};

/** Of most rows, which have two lines, px. */
const rowHeight = 40;
/** Drawn at first: about as many as the window shows, since each event moves them all. */
const firstRows = (): number => Math.max(20, Math.ceil(window.innerHeight / rowHeight));

export function EventFeed({ agents }: { agents: readonly Agent[] }) {
  const { queries } = useServices();
  const feed = useFeed();
  const [first] = useState(firstRows);
  const before = useQuery(queries.deliveries);
  const teams = useQuery(queries.teams).data;
  const waiting = [...(teams?.teams ?? []), ...(teams?.invalid ?? [])].flatMap(({ name, waits }) =>
    waits === undefined ? [] : [name],
  );
  const botOf = useMemo(
    () => new Map(agents.flatMap((agent) => [[agent.id, agent] as const, [agent.address, agent] as const])),
    [agents],
  );
  const newest = useMemo(() => latestOnly(feed), [feed]);
  const seen = new Set(newest.map((entry) => (entry.event.type === 'delivery' ? entry.event.data.id : '')));
  const older = (before.data?.deliveries ?? [])
    .filter((delivery) => !seen.has(delivery.id))
    .map(
      (data): FeedEntry => ({
        key: data.id,
        event: { type: 'delivery', at: data.at, data },
      }),
    );
  const words = new Map((before.data?.deliveries ?? []).map((one) => [one.id, one]));
  const rows = [...newest, ...older].sort((a, b) => (a.event.at < b.event.at ? 1 : a.event.at > b.event.at ? -1 : 0));
  if (rows.length === 0) return <Empty>Messages, starts and stops appear here as they happen.</Empty>;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must be reachable by keyboard
    <section tabIndex={0} aria-label="Events" className="min-h-0 flex-1 overflow-y-auto py-1 [contain:strict]">
      <FirstRows rows={rows} first={first} what="events">
        {(shown) => (
          <ol>
            {shown.map(({ key, event, who }) => {
              const bot = botOf.get(botIn(event));
              return (
                <li key={key} className="flex flex-col px-3 py-1 text-meta" data-event={event.type}>
                  <EventRow
                    event={event}
                    who={bot?.address ?? who}
                    harness={bot?.binding.harness}
                    known={event.type === 'delivery' ? words.get(event.data.id) : undefined}
                    waits={event.type === 'team.changed' && waiting.includes(event.data.team)}
                  />
                </li>
              );
            })}
          </ol>
        )}
      </FirstRows>
    </section>
  );
}

/**
 * One line for each delivery and each question, with its present state, which implies the earlier ones. A bot or step whose state was only repeated (a pane could
 * be read again, a step is ready and then given to its bot) has no line for it. `feed` is newest first.
 */
function latestOnly(feed: readonly FeedEntry[]): readonly FeedEntry[] {
  const told = new Set<string>();
  const steps = new Map<string, string>();
  const states = new Map<string, string>();
  const kept = new Set<FeedEntry>();
  for (const entry of feed.toReversed()) {
    if (entry.event.type === 'node.status') {
      const { nodeId, status } = entry.event.data;
      if (steps.get(nodeId) !== status) kept.add(entry);
      steps.set(nodeId, status);
    }
    if (entry.event.type !== 'agent.state') continue;
    const { agentId, state } = entry.event.data;
    if (states.get(agentId) !== state) kept.add(entry);
    states.set(agentId, state);
  }
  return feed.filter((entry) => {
    if (entry.event.type === 'agent.state' || entry.event.type === 'node.status') return kept.has(entry);
    const { type } = entry.event;
    if (type !== 'delivery' && type !== 'approval.requested' && type !== 'approval.resolved') return true;
    const { id } = entry.event.data;
    if (told.has(id)) return false;
    told.add(id);
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

/** Id or address of the bot that it is about; empty where it is about none. */
function botIn(event: KnownEvent): string {
  if (event.type === 'agent.state' || event.type === 'agent.account') return event.data.agentId;
  return event.type === 'delivery' ? event.data.to : '';
}

interface EventRowProps {
  readonly event: KnownEvent;
  /** Address of its bot, where that is known. */
  readonly who: string | undefined;
  readonly harness: Agent['binding']['harness'];
  /** Its team's file waits for its person's yes. */
  readonly waits: boolean;
  /** The delivery with its words, which an event does not carry. */
  readonly known: Delivery | undefined;
}

/** Drawn again only when what it says changes: most events are not about it. */
const EventRow = memo(function EventRow({ event, who, harness, waits, known }: EventRowProps) {
  if (event.type === 'agent.state') {
    return (
      <Line who={who ?? event.data.agentId} at={event.at}>
        <Status look={agentStatus[event.data.state]} wire={event.data.state} />
      </Line>
    );
  }
  if (event.type === 'delivery') {
    const said = witnessWords(event.data.evidence, harness) ?? detailWords(event.data.detail);
    return (
      <>
        <Line who={deliveryParties({ from: known?.from, to: event.data.to }, who ?? event.data.to)} at={event.at}>
          <Status look={deliveryStatus[event.data.state]} wire={event.data.state} />
        </Line>
        {known?.firstWords !== undefined && (
          <span className="truncate" title={known.firstWords}>
            {known.firstWords}
          </span>
        )}
        {said !== null && <span className="truncate text-muted">{said}</span>}
      </>
    );
  }
  if (event.type === 'agent.account') {
    const { agentId, from, to, resumed } = event.data;
    return (
      <>
        <Line who={who ?? agentId} at={event.at}>
          <span className="inline-flex items-center gap-1.5 text-muted">
            <KeyRound className="size-3.5" aria-hidden="true" />
            Account {to}
          </span>
        </Line>
        <span className="truncate text-muted">
          {from} is at its usage limit; {resumed ? 'the conversation continues' : 'a new conversation began'}
        </span>
      </>
    );
  }
  if (event.type === 'team.changed') {
    const { team, change } = event.data;
    return (
      <Line who={team} at={event.at}>
        <span className="inline-flex items-center gap-1.5 text-muted" title={change}>
          <Users className="size-3.5" aria-hidden="true" />
          {waits && change === 'file' ? 'Team file waits for your yes' : teamWords[change]}
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
      <Line who={event.data.title ?? event.data.nodeId} at={event.at}>
        <Status look={nodeLook(event.data)} wire={event.data.status} />
      </Line>
    );
  }
  if (event.type === 'proof.recorded') {
    const look = event.data.outcome === 'proven' ? nodeStatus.done : nodeStatus.failed;
    return (
      <Line who={event.data.title ?? event.data.nodeId} at={event.at}>
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
});
