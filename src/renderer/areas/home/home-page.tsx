/** Home: who needs a person, what runs, a way to start something; before the first team, the first steps. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import type { Team } from '../../../contracts/factory/agent.ts';
import { useComputerName, useHere, useOnlyComputer } from '../../base/computers.tsx';
import type { Place, PlacedBot } from '../../base/data/places.ts';
import { useBots, useFloors } from '../../base/floors.tsx';
import { isLive, isStartable } from '../../base/is-live.ts';
import { OnComputer, useServices } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { later } from '../../ui/later.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Elapsed } from '../../ui/now.tsx';
import { agentStatus, Status } from '../../ui/status.tsx';
import { Composer } from '../floor/composer.tsx';
import { LastDeliveries } from '../floor/deliveries.tsx';
import type { TeamAsk } from '../floor/team-dialog.tsx';
import { useOpenBot } from '../floor/use-open-bot.ts';
import { useTeamDialogs } from '../floor/use-team-dialogs.tsx';
import { HarnessCard } from '../set-up/harness-card.tsx';
import { useDemoTeam } from '../set-up/use-demo-team.ts';
import { ObeyLink } from './obey-link.tsx';
import { ProvenCard } from './proven-card.tsx';
import { WorkCard } from './work-card.tsx';

/** With the words of every part that may need somebody, which no other page loads at first. */
const NeedsCard = lazy(later(() => import('./needs-card.tsx').then((module) => ({ default: module.NeedsCard }))));

const TrustCard = lazy(later(() => import('./trust-card.tsx').then((module) => ({ default: module.TrustCard }))));

const SetUp = lazy(later(() => import('../set-up/set-up.tsx').then((module) => ({ default: module.SetUp }))));

/** On something now: a bot that is idle runs, and is not at work. */
const isBusy = (agent: PlacedBot): boolean =>
  isLive(agent) && ['starting', 'working', 'checking'].includes(agent.state);

export function HomePage() {
  const { queries } = useServices();
  const navigate = useNavigate();
  const teams = useQuery(queries.teams);
  const agents = useQuery(queries.agents);
  const openBot = useOpenBot('home');
  const here = useHere();
  const several = useFloors().length > 1;
  const only = useOnlyComputer();
  const bots = useBots().filter((bot) => (only === null || bot.place.id === only) && !bot.place.away);
  const { setAsk, setDemo, dialogs } = useTeamDialogs(() => void navigate({ to: '/floor' }));
  const none = teams.data !== undefined && teams.data.teams.length === 0 && teams.data.invalid.length === 0;
  const demoTeam = useDemoTeam();
  const live = bots.filter(isLive);
  const busy = bots.filter(isBusy);

  const onDemo = () => (demoTeam === null ? setDemo(true) : setAsk({ verb: 'up', team: demoTeam, place: here }));

  // Before the first bot ran there is nothing to report, so the page says how to begin.
  const fresh =
    none || (demoTeam !== null && agents.data !== undefined && bots.every((bot) => bot.state === 'offline'));

  return (
    <main className="min-w-0 flex-1 overflow-y-auto">
      <ObeyLink />
      <div className="mx-auto flex max-w-[1080px] flex-col gap-4 p-4 sm:p-6">
        <h1 className="text-page font-semibold">Home</h1>
        <Suspense>
          <TrustCard />
        </Suspense>
        <div className={`grid items-start gap-4 ${none ? '' : 'lg:grid-cols-[minmax(0,1fr)_380px]'}`}>
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
                <SetUp title="First steps" demoTeam={demoTeam} onDemo={onDemo} />
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
              <Card title="Running now">
                <ListStates
                  source={agents}
                  skeleton={<SkeletonRows count={4} />}
                  isEmpty={() => busy.length === 0}
                  empty={
                    <Empty>
                      {live.length === 0
                        ? 'No bot is running. Start a team to see it work here.'
                        : 'No bot is working. Send one a message or start a run.'}
                    </Empty>
                  }
                >
                  {() => (
                    <FirstRows rows={busy} first={10} what="bots at work">
                      {(shown) => (
                        <ul aria-label="Bots at work">
                          {shown.map((agent) => (
                            <RunRow key={agent.id} agent={agent} onOpen={openBot} />
                          ))}
                        </ul>
                      )}
                    </FirstRows>
                  )}
                </ListStates>
              </Card>
              {live.length > 0 && <SendCard bots={live} />}
              <Suspense>
                <SetUp title="First steps" demoTeam={demoTeam} onDemo={onDemo} leaves />
              </Suspense>
            </div>
          )}
          <div className="flex min-w-0 flex-col gap-4">
            {!fresh && <ProvenCard />}
            {!fresh && <WorkCard />}
            {!none && (
              <Card title={several ? `Teams on ${here.name}` : 'Teams'}>
                <ListStates
                  source={teams}
                  skeleton={<SkeletonRows count={2} height={36} />}
                  isEmpty={(data) => data.teams.length === 0}
                  empty={<Empty>No team can start yet. The floor shows why.</Empty>}
                >
                  {(data) => (
                    <FirstRows rows={data.teams} first={10} what="teams">
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
            {!fresh && <HarnessCard />}
          </div>
        </div>
      </div>
      {dialogs}
    </main>
  );
}

function RunRow({ agent, onOpen }: { agent: PlacedBot; onOpen: (agent: PlacedBot) => void }) {
  const computer = useComputerName(agent);
  return (
    <li>
      <button
        type="button"
        onClick={() => onOpen(agent)}
        className="flex h-8 w-full items-center gap-3 px-3 text-left hover:bg-raised pointer-coarse:h-10"
      >
        <span className="w-24 shrink-0">
          <Status look={agentStatus[agent.state]} wire={agent.state} />
        </span>
        <span className="min-w-0 flex-1 truncate">
          {agent.address}
          {agent.role !== null && <span className="text-muted"> · {agent.role}</span>}
          {computer !== null && <span className="text-muted"> · {computer}</span>}
        </span>
        {agent.queueDepth > 0 && <span className="shrink-0 text-meta text-muted">{agent.queueDepth} queued</span>}
        <span className="w-14 shrink-0 text-right text-meta text-faint">
          <Elapsed since={agent.since} />
        </span>
      </button>
    </li>
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
          <Composer place="home" bots={bots} target={bot} onTarget={(one) => setTarget(one.id)} />
        </div>
      </OnComputer>
    </Card>
  );
}
