/** Starts and stops a team: the server's plan first, then the act. Also shows the problems of a team file. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { lazy, Suspense, useState } from 'react';
import { toast } from 'sonner';
import type { TeamPlanStep } from '../../../contracts/factory/agent.ts';
import type { SandboxMode } from '../../../contracts/factory/team-file.ts';
import type { SandboxQuestion } from '../../../contracts/factory/teams-routes.ts';
import type { Place } from '../../base/data/places.ts';
import { useFloors } from '../../base/floors.tsx';
import { OnComputer, useServices } from '../../base/services.tsx';
import { useFollowed } from '../../base/use-followed.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { later } from '../../ui/later.ts';
import { PlanDialog } from '../../ui/plan-dialog.tsx';
import { SandboxChoice } from '../../ui/sandbox-choice.tsx';
import { WorkProgressLine } from '../../ui/work-progress.tsx';

const TrustDialog = lazy(later(() => import('./trust-dialog.tsx').then((module) => ({ default: module.TrustDialog }))));

export interface TeamAsk {
  /** `review`: what its file would run, which waits for its person's yes. */
  readonly verb: 'up' | 'down' | 'problems' | 'review';
  readonly team: string;
  /** The computer it belongs to. */
  readonly place: Place;
}

const actionWords: Readonly<Record<TeamPlanStep['action'], string>> = {
  spawn: 'Start',
  bind: 'Connect',
  skip: 'Skip',
  stop: 'Stop',
};

const count = (number: number): string => `${number} ${number === 1 ? 'bot' : 'bots'}`;
const startsOf = (plan: readonly TeamPlanStep[]): readonly TeamPlanStep[] =>
  plan.filter((step) => step.action === 'spawn' || step.action === 'bind');

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
      {ask.verb === 'review' && (
        <Suspense>
          <TrustDialog only={[`.gantry/teams/${ask.team}/team.yaml`]} onClose={onClose} />
        </Suspense>
      )}
      {ask.verb === 'problems' && <ProblemsDialog team={ask.team} onClose={onClose} />}
      {ask.verb === 'down' && <DownDialog team={ask.team} onClose={onClose} />}
      {ask.verb === 'up' && <UpDialog team={ask.team} place={ask.place} onClose={onClose} onStarted={onStarted} />}
    </OnComputer>
  );
}

function PlanList({ plan }: { plan: readonly TeamPlanStep[] }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a plan that is higher than the dialog is scrolled by keys, too
    <section aria-label="What will happen" tabIndex={0}>
      <ul aria-label="Plan" className="flex flex-col gap-1">
        {plan.map((step) => (
          <li key={step.agent} className="grid grid-cols-[64px_minmax(0,9rem)_1fr] gap-2" data-plan={step.action}>
            <span className={step.action === 'skip' ? 'text-faint' : 'font-medium'}>{actionWords[step.action]}</span>
            <span className="truncate font-mono text-code">{step.agent}</span>
            <span className="min-w-0 break-words text-muted">
              {step.harness === undefined ? '' : `${step.harness}: `}
              {step.reason}
              <Placeholders names={step.placeholders ?? []} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Secrets that the bot never has: Gantry puts their values into its requests. */
function Placeholders({ names }: { names: readonly string[] }) {
  if (names.length === 0) return null;
  const [what, value] = names.length === 1 ? ['a placeholder', 'the value goes'] : ['placeholders', 'each value goes'];
  return (
    <span className="block">
      Gets {what} for <span className="font-mono text-code text-ink">{names.join(', ')}</span>: {value} only into
      requests to its host.
    </span>
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
  /** Id of another computer; null: where the team belongs. */
  const [on, setOn] = useState<string | null>(null);
  const [sandbox, setSandbox] = useState<SandboxMode>();
  const places = useFloors().map((floor) => floor.place);
  const { progress, follow } = useFollowed();
  const params = { name: team };
  /** Its file does not say what its bots run in. */
  const [question, setQuestion] = useState<SandboxQuestion>();
  const asIs = { ...(preset === undefined ? {} : { preset }), ...(on === null ? {} : { on }) };
  const mode = question === undefined ? undefined : (sandbox ?? question.suggests);
  const body = { ...asIs, ...(mode === undefined ? {} : { sandbox: mode }) };
  return (
    <PlanDialog
      title={`Start ${known?.title ?? team}`}
      description="This is what will happen. Nothing has started yet."
      planKey={[computer, 'up', team, preset, on, mode]}
      readPlan={async (signal) => {
        const answer = await api.factory.teamUp({ params, body: { ...body, dryRun: true } }, { signal });
        // The plan with what is suggested is read next.
        setQuestion(answer.sandbox);
        return answer.plan;
      }}
      label={(plan) => (startsOf(plan).length === 0 ? null : `Start ${count(startsOf(plan).length)}`)}
      idle="Nothing to start"
      busyLabel="Starting"
      act={async () => {
        const { plan } = await follow((headers) => api.factory.teamUp({ params, body }, { headers }));
        await client.invalidateQueries({ queryKey: keys.agents });
        void client.invalidateQueries({ queryKey: keys.teams });
        onStarted(startsOf(plan).map((step) => step.agent));
      }}
      onClose={onClose}
      shown={(plan) => (
        <>
          <PlanList plan={plan} />
          {progress !== null && <WorkProgressLine progress={progress} />}
        </>
      )}
      fields={
        <div className="flex flex-wrap gap-x-4 gap-y-2 empty:hidden">
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
          {question !== undefined && mode !== undefined && (
            <div>
              <SandboxChoice value={mode} strictest={question.suggests} why={question.why} onChange={setSandbox} />
              <p className="text-meta text-muted">Your answer is written into {question.file}.</p>
            </div>
          )}
        </div>
      }
    />
  );
}

function DownDialog({ team, onClose }: { team: string; onClose: () => void }) {
  const { api, computer, keys, queries } = useServices();
  const client = useQueryClient();
  const known = useQuery(queries.teams).data?.teams.find((one) => one.name === team);
  const params = { name: team };
  return (
    <PlanDialog
      title={`Stop ${known?.title ?? team}`}
      description="Their programs end; their output stays readable. Nothing has stopped yet."
      planKey={[computer, 'down', team]}
      readPlan={async (signal) => {
        const answer = await api.factory.teamDown({ params, query: { dryRun: '1' } }, { signal });
        if (!('plan' in answer)) throw new Error('The server acted on a dry run.');
        return answer.plan;
      }}
      danger
      label={(plan) => {
        const stops = plan.filter((step) => step.action === 'stop').length;
        return stops === 0 ? null : `Stop ${count(stops)}`;
      }}
      idle="Nothing to stop"
      busyLabel="Stopping"
      act={async () => {
        const answer = await api.factory.teamDown({ params });
        if ('stopped' in answer) {
          const { stopped, letGo = [] } = answer;
          if (stopped.length > 0 || letGo.length === 0) toast(`Stopped ${count(stopped.length)} of ${team}.`);
          if (letGo.length > 0)
            toast(`Gantry no longer controls ${letGo.join(', ')}.`, {
              description: 'They can no longer be reached from here and may still be running.',
            });
        }
        void client.invalidateQueries({ queryKey: keys.agents });
        void client.invalidateQueries({ queryKey: keys.teams });
      }}
      onClose={onClose}
      shown={(plan) => <PlanList plan={plan} />}
    />
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
      title={`The team file of ${team} is invalid`}
      description={`.gantry/teams/${team}/team.yaml. Fix it and save; this list follows the file.`}
    >
      {problems.length === 0 ? (
        <p className="text-muted">All problems are fixed.</p>
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
