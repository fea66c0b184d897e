/** Teams and their bots: state, reason, queue, time. A click shows the pane; a team starts and stops from its row. */
import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { CircleStop, CircleX, Play, Plus } from 'lucide-react';
import { useRef } from 'react';
import type { Agent, InvalidTeam, Team } from '../../../contracts/factory/agent.ts';
import { isStartable } from '../../app/is-live.ts';
import { useServices } from '../../app/services.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Elapsed } from '../../ui/now.tsx';
import { agentStatus, Status } from '../../ui/status.tsx';
import { type FloorRow, floorRows } from './floor-rows.ts';
import type { TeamAsk } from './team-dialog.tsx';

export interface FloorListProps {
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  readonly selected: string | null;
  readonly onOpen: (agent: Agent) => void;
  readonly onTeam: (ask: TeamAsk) => void;
  readonly onDemo: () => void;
}

export function FloorList(props: FloorListProps) {
  const { queries } = useServices();
  const teams = useQuery(queries.teams);
  const agents = useQuery(queries.agents);
  const count = agents.data?.agents.length ?? 0;
  return (
    <section aria-label="Teams and bots" className="flex min-h-0 flex-1 flex-col bg-panel">
      <div className="flex min-h-10 shrink-0 items-center gap-2 border-b border-line px-2 pointer-coarse:py-1.5">
        <input
          type="search"
          data-filter="true"
          value={props.filter}
          onChange={(event) => props.onFilter(event.target.value)}
          aria-label="Filter bots"
          placeholder="Filter ( / )"
          className="h-7 min-w-0 flex-1 rounded-control border border-line bg-window px-2 pointer-coarse:h-10"
        />
        <span className="shrink-0 text-meta text-muted tabular-nums" title="Bots of all teams">
          {count}
        </span>
      </div>
      <ListStates
        source={teams}
        skeleton={<SkeletonRows count={8} />}
        isEmpty={(data) => data.teams.length === 0 && data.invalid.length === 0}
        empty={
          <Empty
            action={
              <Button kind="primary" onClick={props.onDemo}>
                <Plus className="size-3.5" aria-hidden="true" /> Add the demo team
              </Button>
            }
          >
            Teams of this workspace will be here. Write one to <code>.gantry/teams/&lt;name&gt;/team.yaml</code>, or
            start with the demo.
          </Empty>
        }
      >
        {(data) => (
          <Rows rows={floorRows(data.teams, data.invalid, agents.data?.agents ?? [], props.filter)} {...props} />
        )}
      </ListStates>
    </section>
  );
}

/** 28 px a row, 24 more where a sentence stands below it. */
const rowHeight = (row: FloorRow): number =>
  row.kind === 'team' ? 36 : row.kind === 'invalid' ? 64 : says(row.agent) === null ? 28 : 46;

function Rows({ rows, ...props }: FloorListProps & { rows: readonly FloorRow[] }) {
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => rowHeight(rows[index]!),
    getItemKey: (index) => rows[index]!.key,
    overscan: 12,
  });
  if (rows.length === 0) return <Empty>No bot matches “{props.filter}”.</Empty>;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the buttons inside
    <div ref={scroll} className="h-full min-h-0 flex-1 overflow-y-auto" onKeyDown={moveByArrows}>
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index]!;
          return (
            <li
              key={row.key}
              data-index={item.index}
              ref={virtual.measureElement}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {row.kind === 'team' && <TeamRow team={row.team} live={row.live} onTeam={props.onTeam} />}
              {row.kind === 'bot' && (
                <BotRow agent={row.agent} selected={row.agent.id === props.selected} onOpen={props.onOpen} />
              )}
              {row.kind === 'invalid' && <InvalidRow team={row.team} onTeam={props.onTeam} />}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

function TeamRow({ team, live, onTeam }: { team: Team; live: number; onTeam: FloorListProps['onTeam'] }) {
  const all = team.agents.filter(isStartable).length;
  return (
    <div className="flex h-9 items-center gap-2 pt-2 pr-1 pl-3">
      <h2 className="min-w-0 truncate font-semibold">{team.name}</h2>
      <span className="min-w-0 shrink truncate text-meta text-muted tabular-nums">
        {live} of {all} live
      </span>
      <span className="ml-auto flex shrink-0">
        {live < all && (
          <IconButton
            data-row="true"
            label={`Start ${team.name}`}
            onClick={() => onTeam({ verb: 'up', team: team.name })}
          >
            <Play aria-hidden="true" />
          </IconButton>
        )}
        {live > 0 && (
          <IconButton
            data-row="true"
            label={`Stop ${team.name}`}
            onClick={() => onTeam({ verb: 'down', team: team.name })}
          >
            <CircleStop aria-hidden="true" />
          </IconButton>
        )}
      </span>
    </div>
  );
}

/** The sentence below a bot: only where a person should know more than the word. */
function says(agent: Agent): string | null {
  if (agent.stale) return 'last known; its pane cannot be read';
  if (agent.stateReason === 'unclear') return 'what it shows is unclear';
  const matters = agent.state === 'needs_you' || agent.state === 'blocked' || agent.state === 'failed';
  return matters ? agent.stateReason : null;
}

function BotRow({ agent, selected, onOpen }: { agent: Agent; selected: boolean; onOpen: (agent: Agent) => void }) {
  const sentence = says(agent);
  return (
    <button
      type="button"
      data-row="true"
      data-bot={agent.address}
      aria-current={selected ? 'true' : undefined}
      onClick={() => onOpen(agent)}
      title={agent.stateReason ?? agent.address}
      className="flex w-full flex-col justify-center px-3 text-left hover:bg-raised aria-[current]:bg-selected pointer-coarse:min-h-10"
    >
      <span className="flex h-7 w-full items-center gap-2">
        <span className="min-w-0 flex-1 truncate">{agent.name}</span>
        {agent.queueDepth > 0 && (
          <span
            className="shrink-0 rounded-full border border-line-strong px-1.5 text-[10px] leading-[14px] text-muted tabular-nums"
            title={`${agent.queueDepth} queued`}
          >
            {agent.queueDepth}
            <span className="sr-only"> queued</span>
          </span>
        )}
        <span className="flex shrink-0 text-meta">
          <Status look={agentStatus[agent.state]} wire={agent.state} />
        </span>
        <span className="w-11 shrink-0 text-right text-meta text-faint">
          {agent.state === 'offline' ? '' : <Elapsed since={agent.since} />}
        </span>
      </span>
      {sentence !== null && <span className="-mt-1 w-full truncate pb-1 text-meta text-muted">{sentence}</span>}
    </button>
  );
}

function InvalidRow({ team, onTeam }: { team: InvalidTeam; onTeam: FloorListProps['onTeam'] }) {
  const first = team.problems[0];
  return (
    <button
      type="button"
      data-row="true"
      onClick={() => onTeam({ verb: 'problems', team: team.name })}
      className="mt-2 flex w-full flex-col px-3 py-1.5 text-left hover:bg-raised"
    >
      <span className="flex w-full items-center gap-2">
        <span className="min-w-0 flex-1 truncate font-semibold">{team.name}</span>
        <span className="inline-flex shrink-0 items-center gap-1.5 text-meta text-fail">
          <CircleX className="size-3.5" aria-hidden="true" />
          {team.problems.length} {team.problems.length === 1 ? 'problem' : 'problems'}
        </span>
      </span>
      {first !== undefined && (
        <span className="w-full truncate text-meta text-muted">
          {first.line === null ? '' : `line ${first.line}: `}
          {first.message}
        </span>
      )}
    </button>
  );
}
