/** Starting and stopping a team: the server's own plan first, the act after it. And the problems of a team file. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { toast } from 'sonner';
import type { TeamPlanStep } from '../../../contracts/factory/agent.ts';
import { useFloors } from '../../app/floors.tsx';
import { OnComputer, useServices } from '../../app/services.tsx';
import type { Place } from '../../data/places.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SkeletonRows } from '../../ui/list-states.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useFocusWhen } from '../../ui/use-focus-when.ts';

export interface TeamAsk {
  readonly verb: 'up' | 'down' | 'problems';
  readonly team: string;
  /** The computer it belongs to. */
  readonly place: Place;
}

const actionWords: Readonly<Record<TeamPlanStep['action'], string>> = {
  spawn: 'Start',
  bind: 'Take up',
  skip: 'Leave',
  stop: 'Stop',
};

const count = (number: number): string => `${number} ${number === 1 ? 'bot' : 'bots'}`;

export function TeamDialog({
  ask,
  onClose,
  onStarted,
}: {
  ask: TeamAsk;
  onClose: () => void;
  /** Addresses of the bots that were started. */
  onStarted: (addresses: readonly string[]) => void;
}) {
  return (
    <OnComputer computer={ask.place.scope}>
      {ask.verb === 'problems' && <ProblemsDialog team={ask.team} onClose={onClose} />}
      {ask.verb === 'down' && <DownDialog team={ask.team} onClose={onClose} />}
      {ask.verb === 'up' && <UpDialog team={ask.team} place={ask.place} onClose={onClose} onStarted={onStarted} />}
    </OnComputer>
  );
}

function PlanList({ plan }: { plan: readonly TeamPlanStep[] }) {
  return (
    <ul aria-label="Plan" className="flex flex-col gap-1">
      {plan.map((step) => (
        <li key={step.agent} className="grid grid-cols-[64px_minmax(0,9rem)_1fr] gap-2" data-plan={step.action}>
          <span className={step.action === 'skip' ? 'text-faint' : 'font-medium'}>{actionWords[step.action]}</span>
          <span className="truncate font-mono text-code">{step.agent}</span>
          <span className="min-w-0 break-words text-muted">
            {step.harness === undefined ? '' : `${step.harness}: `}
            {step.reason}
          </span>
        </li>
      ))}
    </ul>
  );
}

function UpDialog({
  team,
  place,
  onClose,
  onStarted,
}: {
  team: string;
  place: Place;
  onClose: () => void;
  onStarted: (addresses: readonly string[]) => void;
}) {
  const { api, computer, keys, queries } = useServices();
  const client = useQueryClient();
  const teams = useQuery(queries.teams);
  const known = teams.data?.teams.find((one) => one.name === team);
  const [preset, setPreset] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  /** Id of another computer; null: where the team belongs. */
  const [on, setOn] = useState<string | null>(null);
  const places = useFloors().map((floor) => floor.place);
  const body = { ...(preset === undefined ? {} : { preset }), ...(on === null ? {} : { on }) };
  const plan = useQuery({
    queryKey: ['plan', computer, 'up', team, preset, on],
    queryFn: ({ signal }) =>
      api.factory.teamUp({ params: { name: team }, body: { ...body, dryRun: true } }, { signal }),
    gcTime: 0,
    staleTime: 0,
  });
  const starts = plan.data?.plan.filter((step) => step.action === 'spawn' || step.action === 'bind') ?? [];

  async function start(): Promise<void> {
    if (busy || starts.length === 0) return;
    setBusy(true);
    setFailure(null);
    try {
      const answer = await api.factory.teamUp({ params: { name: team }, body });
      const started = answer.plan.filter((step) => step.action === 'spawn' || step.action === 'bind');
      await client.invalidateQueries({ queryKey: keys.agents });
      void client.invalidateQueries({ queryKey: keys.teams });
      onStarted(started.map((step) => step.agent));
      onClose();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  }

  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Start ${team}`}
      description="This is what will happen. Nothing has started yet."
      onPrimary={() => void start()}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind="primary"
            ref={useFocusWhen(starts.length > 0)}
            disabled={busy || starts.length === 0}
            aria-keyshortcuts="Control+Enter"
            onClick={() => void start()}
          >
            {busy ? 'Starting' : starts.length === 0 ? 'Nothing to start' : `Start ${count(starts.length)}`}
          </Button>
        </>
      }
    >
      <div className="mb-3 flex flex-wrap gap-x-4 gap-y-2 empty:hidden">
        {places.length > 1 && (
          <label className="flex items-center gap-2 text-muted">
            On
            <select
              value={on ?? ''}
              onChange={(event) => setOn(event.target.value === '' ? null : event.target.value)}
              className="h-7 max-w-56 rounded-control border border-line bg-raised px-1.5 text-ink pointer-coarse:h-10"
            >
              <option value="">{place.name}</option>
              {places
                .filter((one) => one.id !== place.id)
                .map((one) => (
                  <option key={one.id} value={one.id} disabled={one.away}>
                    {one.away ? `${one.name} (away)` : one.name}
                  </option>
                ))}
            </select>
          </label>
        )}
        {known !== undefined && known.presets.length > 0 && (
          <label className="flex items-center gap-2 text-muted">
            Preset
            <select
              value={preset ?? known.preset ?? ''}
              onChange={(event) => setPreset(event.target.value === '' ? undefined : event.target.value)}
              className="h-7 rounded-control border border-line bg-raised px-1.5 text-ink pointer-coarse:h-10"
            >
              {known.preset === null && <option value="">none</option>}
              {known.presets.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {plan.error !== null ? (
        <Problem error={plan.error} />
      ) : plan.data === undefined ? (
        <SkeletonRows count={3} />
      ) : (
        <PlanList plan={plan.data.plan} />
      )}
      {failure !== null && <Problem error={failure} />}
    </Dialog>
  );
}

function DownDialog({ team, onClose }: { team: string; onClose: () => void }) {
  const { api, computer, keys } = useServices();
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  const plan = useQuery({
    queryKey: ['plan', computer, 'down', team],
    queryFn: ({ signal }) => api.factory.teamDown({ params: { name: team }, query: { dryRun: '1' } }, { signal }),
    gcTime: 0,
    staleTime: 0,
  });
  const steps = plan.data !== undefined && 'plan' in plan.data ? plan.data.plan : undefined;
  const stops = steps?.filter((step) => step.action === 'stop') ?? [];

  async function stop(): Promise<void> {
    if (busy || stops.length === 0) return;
    setBusy(true);
    setFailure(null);
    try {
      const answer = await api.factory.teamDown({ params: { name: team } });
      if ('stopped' in answer) {
        const { stopped, letGo = [] } = answer;
        if (stopped.length > 0 || letGo.length === 0) toast(`Stopped ${count(stopped.length)} of ${team}.`);
        if (letGo.length > 0)
          toast(`Gantry lets go of ${letGo.join(', ')}.`, {
            description: 'Not reached from here any more: what runs there may run on.',
          });
      }
      void client.invalidateQueries({ queryKey: keys.agents });
      void client.invalidateQueries({ queryKey: keys.teams });
      onClose();
    } catch (error) {
      setFailure(error);
      setBusy(false);
    }
  }

  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`Stop ${team}`}
      description="Their programs end; what they printed stays readable. Nothing has stopped yet."
      onPrimary={() => void stop()}
      footer={
        <>
          <Button kind="quiet" onClick={onClose}>
            Cancel
          </Button>
          <Button
            kind="danger"
            ref={useFocusWhen(stops.length > 0)}
            disabled={busy || stops.length === 0}
            aria-keyshortcuts="Control+Enter"
            onClick={() => void stop()}
          >
            {busy ? 'Stopping' : stops.length === 0 ? 'Nothing to stop' : `Stop ${count(stops.length)}`}
          </Button>
        </>
      }
    >
      {plan.error !== null ? (
        <Problem error={plan.error} />
      ) : steps === undefined ? (
        <SkeletonRows count={3} />
      ) : (
        <PlanList plan={steps} />
      )}
      {failure !== null && <Problem error={failure} />}
    </Dialog>
  );
}

function ProblemsDialog({ team, onClose }: { team: string; onClose: () => void }) {
  const { queries } = useServices();
  const teams = useQuery(queries.teams);
  const problems = teams.data?.invalid.find((one) => one.name === team)?.problems ?? [];
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`The file of ${team} cannot be used`}
      description={`.gantry/teams/${team}/team.yaml. Mend it and save; this list follows the file.`}
    >
      {problems.length === 0 ? (
        <p className="text-muted">All problems are mended.</p>
      ) : (
        <ul className="flex flex-col gap-2">
          {problems.map((problem) => (
            <li key={`${problem.path} ${problem.line} ${problem.message}`} className="grid grid-cols-[72px_1fr] gap-2">
              <span className="text-faint tabular-nums">{problem.line === null ? 'file' : `line ${problem.line}`}</span>
              <span className="min-w-0 break-words">
                {problem.path !== '' && <code className="font-mono text-code text-muted">{problem.path}: </code>}
                {problem.message}
              </span>
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
