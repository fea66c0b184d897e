/** Home: what needs a person, what is under way, what ended; before the first team, the first steps. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { lazy, Suspense, useEffect, useMemo, useState } from 'react';
import type { Team } from '../../../contracts/factory/agent.ts';
import type { Action } from '../../base/actions.ts';
import { useHere, useOnlyComputer } from '../../base/computers.tsx';
import type { Place, PlacedBot } from '../../base/data/places.ts';
import { useBots, useFloors } from '../../base/floors.tsx';
import { isLive, isStartable } from '../../base/is-live.ts';
import { useTickKey } from '../../base/selection.tsx';
import { OnComputer, useAddActions, useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { later } from '../../ui/later.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Composer } from '../floor/composer.tsx';
import { LastDeliveries } from '../floor/deliveries.tsx';
import { useQuickRuns } from '../floor/runs/quick-runs.ts';
import type { TeamAsk } from '../floor/team-dialog.tsx';
import { useTeamDialogs } from '../floor/use-team-dialogs.tsx';
import { useDemoTeam } from '../set-up/use-demo-team.ts';
import type { NewRunAsk } from './new-run-form.tsx';
import { ObeyLink } from './obey-link.tsx';
import { SinceCard } from './since-card.tsx';
import { UnderWayCard } from './under-way-card.tsx';
import { WorkCard } from './work-card.tsx';

/** With the words of every part that may need somebody, which no other page loads at first. */
const NeedsCard = lazy(later(() => import('./needs-card.tsx').then((module) => ({ default: module.NeedsCard }))));

const TrustCard = lazy(later(() => import('./trust-card.tsx').then((module) => ({ default: module.TrustCard }))));

const SetUp = lazy(later(() => import('../set-up/set-up.tsx').then((module) => ({ default: module.SetUp }))));

export function HomePage() {
  const { queries } = useServices();
  const navigate = useNavigate();
  const teams = useQuery(queries.teams);
  const agents = useQuery(queries.agents);
  const here = useHere();
  const several = useFloors().length > 1;
  const only = useOnlyComputer();
  const bots = useBots().filter((bot) => (only === null || bot.place.id === only) && !bot.place.away);
  const { setAsk, setDemo, dialogs } = useTeamDialogs(() => void navigate({ to: '/floor' }));
  const none = teams.data !== undefined && teams.data.teams.length === 0 && teams.data.invalid.length === 0;
  useTickKey('This page', 'Select or deselect the run');
  const demoTeam = useDemoTeam();
  const live = bots.filter(isLive);

  const onDemo = () => (demoTeam === null ? setDemo(true) : setAsk({ verb: 'up', team: demoTeam, place: here }));

  const runs = useQuickRuns();
  // A run leaves something to report even if its bots and its team are gone.
  const neverRan = runs.isError || runs.data?.runs.length === 0;
  /** A run from a prompt is listed by its title; its team has only a name that Gantry made. */
  const listed = teams.data?.teams.filter(({ title }) => title === undefined) ?? [];
  // Before the first bot ran there is nothing to report, so the page says how to begin.
  const fresh =
    neverRan &&
    (none || (demoTeam !== null && agents.data !== undefined && bots.every((bot) => bot.state === 'offline')));

  return (
    <main className="min-w-0 flex-1 overflow-y-auto">
      <ObeyLink />
      <div className="mx-auto flex max-w-[1720px] flex-col gap-4 p-4 sm:p-6">
        <h1 className="text-page font-semibold">Home</h1>
        <NewRunPlace onDemo={onDemo} />
        <Suspense>
          <TrustCard />
        </Suspense>
        <div
          className={`grid items-start gap-4 ${none ? 'max-w-[960px]' : 'lg:grid-cols-[minmax(0,1fr)_380px] 2xl:grid-cols-[minmax(0,1fr)_480px]'}`}
        >
          {fresh ? (
            <div className="flex min-w-0 flex-col gap-4">
              <Suspense>
                <NeedsCard bots={bots} quiet />
              </Suspense>
              <Suspense
                fallback={
                  <Card title="First steps">
                    <SkeletonRows count={5} height={48} />
                  </Card>
                }
              >
                <SetUp title="First steps" demoTeam={demoTeam} onDemo={onDemo} brief />
              </Suspense>
            </div>
          ) : (
            <div className="flex min-w-0 flex-col gap-4">
              <Suspense
                fallback={
                  <Card title="Needs you">
                    <SkeletonRows count={2} height={48} />
                  </Card>
                }
              >
                <NeedsCard bots={bots} />
              </Suspense>
              <UnderWayCard bots={bots} />
              <SinceCard />
              <Suspense>
                <SetUp title="First steps" demoTeam={demoTeam} onDemo={onDemo} leaves brief />
              </Suspense>
            </div>
          )}
          <div className="flex min-w-0 flex-col gap-4">
            {!fresh && <WorkCard />}
            {(teams.data === undefined || listed.length > 0 || teams.data.invalid.length > 0) && (
              <Card title={several ? `Teams on ${here.name}` : 'Teams'}>
                <ListStates
                  source={teams}
                  skeleton={<SkeletonRows count={2} height={36} />}
                  isEmpty={() => listed.length === 0}
                  empty={<Empty>No team can start yet. The floor shows why.</Empty>}
                >
                  {() => (
                    <FirstRows rows={listed} first={10} what="teams">
                      {(shown) => (
                        <ul>
                          {shown.map((team) => (
                            <TeamRow key={team.name} team={team} bots={bots} place={here} onTeam={setAsk} />
                          ))}
                        </ul>
                      )}
                    </FirstRows>
                  )}
                </ListStates>
              </Card>
            )}
            {!fresh && live.length > 0 && <SendCard bots={live} />}
          </div>
        </div>
      </div>
      {dialogs}
    </main>
  );
}

function TeamRow({
  team,
  bots,
  place,
  onTeam,
}: {
  team: Team;
  bots: readonly PlacedBot[];
  place: Place;
  onTeam: (ask: TeamAsk) => void;
}) {
  const live = bots.filter((bot) => bot.team === team.name && bot.place.id === place.id && isLive(bot)).length;
  const all = team.agents.filter(isStartable).length;
  return (
    <li className="flex h-9 items-center gap-2 px-3 pointer-coarse:h-11">
      <span className="min-w-0 truncate font-medium">{team.name}</span>
      <span className="text-meta text-muted tabular-nums">
        {live} of {all} live
      </span>
      <span className="ml-auto flex gap-1">
        {live < all && (
          <Button onClick={() => onTeam({ verb: 'up', team: team.name, place })} aria-label={`Start ${team.name}`}>
            Start
          </Button>
        )}
        {live > 0 && (
          <Button
            kind="quiet"
            onClick={() => onTeam({ verb: 'down', team: team.name, place })}
            aria-label={`Stop ${team.name}`}
          >
            Stop
          </Button>
        )}
      </span>
    </li>
  );
}

function SendCard({ bots }: { bots: readonly PlacedBot[] }) {
  const [target, setTarget] = useState<string | null>(null);
  const bot = bots.find((one) => one.id === target) ?? null;
  return (
    <Card title="Message a bot">
      <OnComputer computer={bot?.place.scope ?? null}>
        {bot !== null && <LastDeliveries agentId={bot.id} harness={bot.binding.harness} />}
        <div className={bot === null ? '[&>form]:border-t-0' : undefined}>
          <Composer place="home" kind="plain" bots={bots} target={bot} onTarget={(one) => setTarget(one.id)} />
        </div>
      </OnComputer>
    </Card>
  );
}

/** Where a new run begins: its form at the top of Home, its key, and links to `/?new=1&prompt=…&repo=…&who=…`. */
const NewRunForm = lazy(later(() => import('./new-run-form.tsx').then((module) => ({ default: module.NewRunForm }))));

function NewRunPlace({ onDemo }: { onDemo: () => void }) {
  const { new: begin, prompt, repo, who } = useSearch({ from: '/' });
  const navigate = useNavigate();
  const [ask, setAsk] = useState<NewRunAsk>({ count: 0 });
  const asked = [begin, prompt, repo, who].some((one) => one !== undefined);
  useEffect(() => {
    if (!asked) return;
    setAsk(({ count }) => ({ count: count + 1, prompt, repo, who }));
    // Going back, or loading the page again, does not write over what was typed since.
    void navigate({ to: '/', search: {}, replace: true });
  }, [asked, prompt, repo, who, navigate]);
  const actions = useMemo<readonly Action[]>(
    () => [
      {
        id: 'write-new-run',
        title: 'Write a new run',
        group: 'Work',
        keys: 'n',
        changes: false,
        run: () => setAsk(({ count }) => ({ count: count + 1 })),
      },
    ],
    [],
  );
  useAddActions(actions);
  return (
    <Suspense fallback={<div className="h-[58px] rounded-panel border border-line bg-panel" />}>
      <NewRunForm ask={ask} onDemo={onDemo} />
    </Suspense>
  );
}
