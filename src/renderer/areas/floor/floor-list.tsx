/**
 * Teams and their bots by computer: state, reason, queue, time. A click shows the pane; a team starts and stops from its row. The rows of a computer
 * that is away show its last known state.
 */
import { useQuery } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { CircleStop, CircleX, Monitor, Play, Plus, ShieldQuestion, UserRoundPlus } from 'lucide-react';
import { type MouseEvent, memo, useMemo, useRef } from 'react';
import type { InvalidTeam } from '../../../contracts/factory/agent.ts';
import { BotStatus } from '../../base/bot-status.tsx';
import { ComputerSelect, elsewhereOf, PlaceState, useOnlyComputer, useRunsOn } from '../../base/computers.tsx';
import type { Floor, Place, PlacedBot } from '../../base/data/places.ts';
import { useFloors } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { goToRows, moveByArrows } from '../../ui/arrow-rows.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { describeProblem } from '../../ui/describe-problem.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Elapsed } from '../../ui/now.tsx';
import { type FloorRow, floorRows } from './floor-rows.ts';
import type { TeamAsk } from './team-dialog.tsx';

interface FloorListProps {
  readonly filter: string;
  readonly onFilter: (filter: string) => void;
  readonly selected: string | null;
  readonly onOpen: (bot: PlacedBot) => void;
  readonly onTeam: (ask: TeamAsk) => void;
  readonly onDemo: () => void;
  /** Adopts a conversation begun elsewhere as a bot. */
  readonly onAdopt: () => void;
}

export function FloorList(props: FloorListProps) {
  const { queries } = useServices();
  const all = useFloors();
  const only = useOnlyComputer();
  const floors = only === null ? all : all.filter((floor) => floor.place.id === only);
  const teams = useQuery(queries.teams);
  const rows = floorRows(floors, props.filter);
  const count = floors.reduce((sum, floor) => sum + floor.bots.length, 0);
  return (
    <section aria-label="Teams and bots" className="flex min-h-0 flex-1 flex-col bg-panel">
      <div className="flex min-h-10 shrink-0 items-center gap-2 border-b border-line px-2 pointer-coarse:py-1.5">
        <input
          type="search"
          data-filter="true"
          value={props.filter}
          onChange={(event) => props.onFilter(event.target.value)}
          onKeyDown={(event) => {
            // To a bot: the first button of a team stops or starts all of it.
            goToRows(event, '[data-bot]');
            const first = rows.find((row) => row.kind === 'bot');
            if (event.key !== 'Enter' || event.nativeEvent.isComposing || first === undefined) return;
            props.onOpen(first.bot);
          }}
          aria-label="Filter bots"
          placeholder="Filter ( / )"
          className="h-7 min-w-0 flex-1 rounded-control border border-line bg-window px-2 pointer-coarse:h-10"
        />
        <span className="shrink-0 text-meta text-muted tabular-nums" title="Bots in all teams">
          {count}
        </span>
        <IconButton label="Adopt a conversation" onClick={props.onAdopt}>
          <UserRoundPlus aria-hidden="true" />
        </IconButton>
      </div>
      {all.length > 1 && (
        <div className="shrink-0 border-b border-line p-2">
          <ComputerSelect all="All computers" wide />
        </div>
      )}
      {all.length > 1 ? (
        <Rows rows={rows} {...props} />
      ) : (
        <ListStates
          fill
          source={teams}
          skeleton={<SkeletonRows count={8} />}
          isEmpty={(data) => data.teams.length === 0 && data.invalid.length === 0}
          empty={
            <Empty
              action={
                <Button icon={Plus} kind="primary" onClick={props.onDemo}>
                  Add the demo team
                </Button>
              }
            >
              Teams of this workspace appear here. Write one to{' '}
              <code className="break-all">.gantry/teams/&lt;name&gt;/team.yaml</code>, or start with the demo.
            </Empty>
          }
        >
          {() => (floors.length === 0 ? <SkeletonRows count={8} /> : <Rows rows={rows} {...props} />)}
        </ListStates>
      )}
    </section>
  );
}

/** 28 px a row, 18 more where a sentence stands below it. */
function rowHeight(row: FloorRow): number {
  switch (row.kind) {
    case 'computer':
    case 'team':
      return 36;
    case 'invalid':
    case 'none':
      return 64;
    case 'bot':
      return says(row.bot) === null ? 28 : 46;
  }
}

function Rows({ rows, ...props }: FloorListProps & { rows: readonly FloorRow[] }) {
  const several = rows.some((row) => row.kind === 'computer');
  const lastWords = useLastWords();
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => rowHeight(rows[index]!),
    getItemKey: (index) => rows[index]!.key,
    overscan: 6,
  });
  if (rows.length === 0) {
    const showAll = (event: MouseEvent<HTMLElement>): void => {
      // The button goes with what it says; on a touch screen a field in focus would open the keyboard.
      if (!matchMedia('(pointer: coarse)').matches) {
        event.currentTarget.closest('section')?.querySelector<HTMLElement>('[data-filter]')?.focus();
      }
      props.onFilter('');
    };
    const all = <Button onClick={showAll}>Show all bots</Button>;
    return <Empty action={all}>No bot matches “{props.filter}”.</Empty>;
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the buttons inside
    <div ref={scroll} className="h-full min-h-0 flex-1 overflow-y-auto [contain:strict]" onKeyDown={moveByArrows}>
      <ul className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index]!;
          return (
            <li
              key={row.key}
              data-index={item.index}
              ref={virtual.measureElement}
              className="absolute inset-x-0"
              style={{ top: item.start }}
            >
              {row.kind === 'computer' && <ComputerRow place={row.place} />}
              {row.kind === 'none' && <NoTeams floor={row.floor} />}
              {row.kind === 'team' && (
                <TeamRow
                  team={row.team.name}
                  title={row.team.title ?? row.team.name}
                  waits={row.team.waits !== undefined}
                  place={row.place}
                  live={row.live}
                  all={row.startable}
                  heading={several ? 'h3' : 'h2'}
                  onTeam={props.onTeam}
                />
              )}
              {row.kind === 'bot' && (
                <BotRow
                  bot={row.bot}
                  selected={row.bot.id === props.selected}
                  on={row.bot.currentNode?.title ?? lastWords.get(row.bot.address)}
                  onOpen={props.onOpen}
                />
              )}
              {row.kind === 'invalid' && <InvalidRow team={row.team} place={row.place} onTeam={props.onTeam} />}
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** How the newest message that each bot got begins, by address; none that still waits for it. */
function useLastWords(): ReadonlyMap<string, string> {
  const { queries } = useServices();
  const deliveries = useQuery(queries.deliveries).data?.deliveries;
  return useMemo(() => {
    const words = new Map<string, string>();
    for (const { to, firstWords, state } of deliveries ?? []) {
      if (firstWords !== undefined && state !== 'queued' && !words.has(to)) words.set(to, firstWords);
    }
    return words;
  }, [deliveries]);
}

function ComputerRow({ place }: { place: Place }) {
  return (
    <div
      data-computer={place.id}
      className="flex h-9 items-center gap-2 border-b border-line bg-raised pr-3 pl-3 text-meta"
    >
      <Monitor className="size-3.5 shrink-0 text-muted" aria-hidden="true" />
      <h2 className="min-w-0 flex-1 truncate text-ui font-semibold" title={place.id}>
        {place.name}
      </h2>
      <PlaceState place={place} />
    </div>
  );
}

/** A computer whose teams are not there to be seen says why. */
function NoTeams({ floor }: { floor: Floor }) {
  const { place, known, error } = floor;
  if (error !== null) return <p className="px-3 py-2 text-meta break-words text-fail">{describeProblem(error).fact}</p>;
  if (!known && !place.away) return <SkeletonRows count={2} />;
  return (
    <p className="px-3 py-2 text-meta text-muted">{known ? 'No teams.' : 'Its bots appear here when it is back.'}</p>
  );
}

const TeamRow = memo(function TeamRow({
  team,
  title,
  waits,
  place,
  live,
  all,
  heading: Heading,
  onTeam,
}: {
  team: string;
  /** How it is called here: the run from a prompt that it was made for, or its name. */
  title: string;
  /** For a yes to what it may run. */
  waits: boolean;
  place: Place;
  live: number;
  /** Those that can be started. */
  all: number;
  /** Below the heading of its computer where there are several. */
  heading: 'h2' | 'h3';
  onTeam: FloorListProps['onTeam'];
}) {
  return (
    <div className="flex h-9 items-center gap-2 pt-2 pr-1 pl-3">
      <Heading className={`min-w-0 truncate font-semibold ${place.away ? 'text-faint' : ''}`} title={title}>
        {title}
      </Heading>
      <span className="min-w-0 shrink truncate text-meta text-muted tabular-nums">
        {place.away ? `${all} ${all === 1 ? 'bot' : 'bots'}` : `${live} of ${all} live`}
      </span>
      <span className="ml-auto flex shrink-0">
        {!place.away && waits && (
          <IconButton
            data-row="true"
            label={`Review changes in ${title}: waiting for your yes`}
            className="[&_svg]:text-need"
            onClick={() => onTeam({ verb: 'review', team, place })}
          >
            <ShieldQuestion aria-hidden="true" />
          </IconButton>
        )}
        {!place.away && live < all && (
          <IconButton data-row="true" label={`Start ${title}`} onClick={() => onTeam({ verb: 'up', team, place })}>
            <Play aria-hidden="true" />
          </IconButton>
        )}
        {live > 0 && (
          <IconButton data-row="true" label={`Stop ${title}`} onClick={() => onTeam({ verb: 'down', team, place })}>
            <CircleStop aria-hidden="true" />
          </IconButton>
        )}
      </span>
    </div>
  );
});

/** The sentence below a bot: only where a person should know more than the word. */
function says(agent: PlacedBot): string | null {
  if (agent.place.away) return null;
  if (agent.stale) return 'last known state; pane unavailable';
  if (agent.stateReason === 'unclear') return 'its screen is unclear';
  const matters = agent.state === 'needs_you' || agent.state === 'blocked' || agent.state === 'failed';
  return matters ? agent.stateReason : null;
}

/** Drawn again only when it says something else: most states are those of other bots. */
const BotRow = memo(function BotRow({
  bot,
  selected,
  on,
  onOpen,
}: {
  bot: PlacedBot;
  selected: boolean;
  /** What it is on: its step, else how the last message to it begins. */
  on: string | undefined;
  onOpen: (bot: PlacedBot) => void;
}) {
  const sentence = says(bot);
  const elsewhere = elsewhereOf(bot);
  const away = useRunsOn(bot).away || bot.place.away;
  return (
    <button
      type="button"
      data-row="true"
      data-bot={bot.address}
      data-away={away ? 'true' : undefined}
      aria-current={selected ? 'true' : undefined}
      onClick={() => onOpen(bot)}
      title={bot.stateReason ?? bot.address}
      className="flex w-full flex-col justify-center px-3 text-left hover:bg-raised aria-[current]:bg-selected pointer-coarse:min-h-11"
    >
      <span className="flex h-7 w-full items-center gap-2">
        <span
          className={`min-w-12 truncate ${on === undefined ? 'flex-1' : 'max-w-[45%]'} ${away ? 'text-faint' : ''}`}
        >
          {bot.name}
        </span>
        {on !== undefined && (
          <span data-on="true" className="min-w-0 flex-1 truncate text-meta text-muted" title={on}>
            {on}
          </span>
        )}
        {elsewhere !== null && (
          <span className="min-w-0 shrink truncate text-meta text-muted" title={`Runs on ${elsewhere}`}>
            on {elsewhere}
          </span>
        )}
        {bot.queueDepth > 0 && (
          <span
            className="shrink-0 rounded-full border border-line-strong px-1.5 text-[10px] leading-[14px] text-muted tabular-nums"
            title={`${bot.queueDepth} queued`}
          >
            {bot.queueDepth}
            <span className="sr-only"> queued</span>
          </span>
        )}
        <span className="flex shrink-0 text-meta">
          <BotStatus bot={bot} away={away} />
        </span>
        <span className="w-11 shrink-0 text-right text-meta text-faint">
          {away || bot.state === 'offline' ? '' : <Elapsed since={bot.since} />}
        </span>
      </span>
      {sentence !== null && <span className="-mt-1 w-full truncate pb-1 text-meta text-muted">{sentence}</span>}
    </button>
  );
});

function InvalidRow({ team, place, onTeam }: { team: InvalidTeam; place: Place; onTeam: FloorListProps['onTeam'] }) {
  const first = team.problems[0];
  const waits = team.waits !== undefined;
  return (
    <button
      type="button"
      data-row="true"
      onClick={() => onTeam({ verb: waits ? 'review' : 'problems', team: team.name, place })}
      className="mt-2 flex w-full flex-col px-3 py-1.5 text-left hover:bg-raised"
    >
      <span className="flex w-full items-center gap-2">
        <span className="min-w-0 flex-1 truncate font-semibold">{team.name}</span>
        {waits ? (
          <span className="inline-flex shrink-0 items-center gap-1.5 text-meta text-need">
            <ShieldQuestion className="size-3.5" aria-hidden="true" />
            Waiting for your yes
          </span>
        ) : (
          <span className="inline-flex shrink-0 items-center gap-1.5 text-meta text-fail">
            <CircleX className="size-3.5" aria-hidden="true" />
            {team.problems.length} {team.problems.length === 1 ? 'problem' : 'problems'}
          </span>
        )}
      </span>
      {waits ? (
        <span className="w-full truncate text-meta text-muted">Review what it would run.</span>
      ) : (
        first !== undefined && (
          <span className="w-full truncate text-meta text-muted">
            {first.line === null ? '' : `line ${first.line}: `}
            {first.message}
          </span>
        )
      )}
    </button>
  );
}
