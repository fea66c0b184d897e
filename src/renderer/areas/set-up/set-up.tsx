/** The first steps of a new person: each can be skipped and returned to, on Home at first and later in the settings. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { CircleCheck, CircleDashed, CornerDownRight, Play } from 'lucide-react';
import { type ReactNode, useId, useState } from 'react';
import { type SetUpStep, setUpSteps } from '../../base/data/settings.ts';
import { useServices, useSettings } from '../../base/services.tsx';
import { Button } from '../../ui/button.tsx';
import { Card } from '../../ui/card.tsx';
import { Command } from '../../ui/copy.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { HarnessList } from './harness-list.tsx';
import { ModelPlaces } from './model-places.tsx';
import { useHasOwnBots, useHasTeam } from './use-demo-team.ts';

const linkButton =
  'inline-flex h-7 items-center rounded-control border border-line bg-raised px-2.5 font-medium hover:border-line-strong pointer-coarse:h-10';

const harnessesOfEveryone: readonly string[] = ['shell', 'custom', 'acp'];

interface SetUpProps {
  readonly title: string;
  /** Name of the demo team where it is in the workspace already. */
  readonly demoTeam: string | null;
  readonly onDemo: () => void;
  /** Beside what there is to report: each step is folded, and the card leaves once each is done or skipped. */
  readonly leaves?: boolean;
  /** On Home: the commands that install and sign in programs are one link away. */
  readonly brief?: boolean;
}

export function SetUp({ title, demoTeam, onDemo, leaves = false, brief = false }: SetUpProps) {
  const { workspace, models, embedded, pairing, ready, withKey, done, isKnown } = useFacts();
  const { skippedSteps } = useSettings();
  if (leaves) {
    const settled = setUpSteps.every(
      (step) => done[step] || skippedSteps.includes(step) || (step === 'pairing' && !embedded),
    );
    if (settled || !isKnown) return null;
  }
  return (
    <Card title={title}>
      <ol>
        <Step id="demo" number={1} title="Watch a demo team" done={done.demo} folded={leaves}>
          <p className="text-muted">
            Three shell bots work in a sample project.{' '}
            {demoTeam === null
              ? 'You see which files it adds before anything is written.'
              : 'Its files are already in this workspace.'}
          </p>
          <Button kind={brief && ready.length > 0 ? 'plain' : 'primary'} onClick={onDemo}>
            <Play className="size-3.5" aria-hidden="true" />
            {demoTeam === null ? 'Add the demo team' : 'Start the demo team'}
          </Button>
        </Step>
        <Step
          id="workspace"
          number={2}
          title="Work in your own project"
          done={done.workspace}
          folded={leaves}
          about={workspace?.demo === false ? workspace.path : undefined}
        >
          <p className="text-muted">
            {brief
              ? 'Name its folder in the field above, and write what should be done. To keep teams in it, stop Gantry and start it there:'
              : 'A new run on Home works in any repository. To keep teams in your project, stop Gantry and start it with that folder as the workspace:'}
          </p>
          <Command text="npx gantry start --workspace ~/code/my-project" />
          <p className="text-muted">
            A team is a file in that folder. Save this file and the team appears here:{' '}
            <code className="font-mono text-code break-all">.gantry/teams/my-team/team.yaml</code>
          </p>
        </Step>
        <Step
          id="harnesses"
          number={3}
          title="Sign in to an agent program"
          done={done.harnesses}
          folded={leaves}
          about={ready.map(({ name }) => name).join(', ')}
        >
          <p className="text-muted">
            {brief
              ? 'The agent programs that Gantry knows, and which of them are ready on this computer:'
              : 'The agent programs found here, with the command that installs or signs in each one that is not ready:'}
          </p>
          <div className="w-full">
            <HarnessList brief={brief} />
          </div>
          {brief && (
            <Link to="/settings/set-up" className={linkButton}>
              Install or sign in to a program
            </Link>
          )}
        </Step>
        <Step
          id="models"
          number={4}
          title="Give hosted bots a model"
          done={done.models}
          folded={leaves}
          about={withKey.map(({ name }) => name).join(', ')}
        >
          <p className="text-muted">
            Hosted bots need a model: add a provider's API key, or your own server such as Ollama or vLLM. Agent
            programs in terminals use their own sign-in.
          </p>
          <div className="w-full">
            <ListStates source={models} skeleton={<SkeletonRows count={3} />} isEmpty={() => false} empty={null}>
              {(data) => <ModelPlaces places={data.places} />}
            </ListStates>
          </div>
        </Step>
        {embedded && (
          <Step
            id="pairing"
            number={5}
            title="Reach this computer from elsewhere, or stay local"
            done={done.pairing}
            folded={leaves}
            about={pairing?.state === 'paired' ? pairing.cloudUrl : undefined}
            skip="Stay local"
          >
            <p className="text-muted">
              Everything works on this computer. Pair it with a Gantry cloud to reach it from your other devices.
            </p>
            <Link to="/settings/computers" className={linkButton}>
              Pair with a cloud
            </Link>
          </Step>
        )}
      </ol>
    </Card>
  );
}

/** What is there already, and which steps that makes done. */
function useFacts() {
  const { queries } = useServices();
  const hasTeam = useHasTeam();
  const hasOwnBots = useHasOwnBots();
  const workspace = useQuery(queries.workspace);
  const doctor = useQuery(queries.doctor);
  const models = useQuery(queries.modelPlaces);
  const session = useQuery(queries.session).data;
  const embedded = session?.mode === 'embedded';
  const pairing = useQuery({ ...queries.pairing, enabled: embedded }).data;
  const ready = (doctor.data?.checks ?? []).filter(
    (check) => check.group === 'harness' && check.state === 'ok' && !harnessesOfEveryone.includes(check.name),
  );
  const withKey = (models.data?.places ?? []).filter(({ key }) => key !== 'missing');
  const done: Readonly<Record<SetUpStep, boolean>> = {
    demo: hasTeam,
    workspace: workspace.data?.demo === false || hasOwnBots,
    harnesses: ready.length > 0,
    models: withKey.length > 0,
    pairing: pairing?.state === 'paired',
  };
  const isKnown = ![workspace.data, doctor.data, models.data, session, embedded ? pairing : session].includes(
    undefined,
  );
  return { workspace: workspace.data, models, embedded, pairing, ready, withKey, done, isKnown };
}

/** Done and skipped ones are folded until somebody opens them. */
function Step({
  id,
  number,
  title,
  done,
  about,
  folded,
  skip = 'Skip',
  children,
}: {
  id: SetUpStep;
  number: number;
  title: string;
  done: boolean;
  /** Also one that is still to be done. */
  folded: boolean;
  /** What it came to, in a word. */
  about?: string | undefined;
  skip?: string;
  children: ReactNode;
}) {
  const { settings } = useServices();
  const { skippedSteps } = useSettings();
  const [opened, setOpened] = useState(false);
  const body = useId();
  const skipped = !done && skippedSteps.includes(id);
  const open = opened || (!done && !skipped && !folded);
  const others = skippedSteps.filter((one) => one !== id);
  const Icon = done ? CircleCheck : skipped ? CornerDownRight : CircleDashed;
  return (
    <li data-step={done ? 'done' : skipped ? 'skipped' : 'open'} className="border-b border-line p-3 last:border-b-0">
      <div className="flex min-h-7 flex-wrap items-center gap-x-2 gap-y-1">
        <Icon className={`size-4 shrink-0 ${done ? 'text-muted' : 'text-faint'}`} aria-hidden="true" />
        <h3 className={`font-medium ${skipped ? 'text-muted' : ''}`}>
          {number}. {title}
        </h3>
        <span className="min-w-0 truncate text-meta text-muted">
          {done ? `Done${about === undefined || about === '' ? '' : `: ${about}`}` : skipped ? 'Skipped' : ''}
        </span>
        <span className="ml-auto flex gap-1">
          {(done || skipped || folded) && (
            <Button
              kind="quiet"
              aria-expanded={open}
              aria-controls={body}
              aria-label={`${open ? 'Hide' : 'Show'}: ${title}`}
              onClick={() => setOpened(!open)}
            >
              {open ? 'Hide' : 'Show'}
            </Button>
          )}
          {!done && !skipped && (
            <Button
              kind="quiet"
              aria-label={`${skip}: ${title}`}
              onClick={() => {
                setOpened(false);
                settings.set({ skippedSteps: [...others, id] });
              }}
            >
              {skip}
            </Button>
          )}
        </span>
      </div>
      <div
        id={body}
        hidden={!open}
        className="mt-2 flex min-w-0 flex-col items-start gap-2 pl-6 max-sm:pl-0 hidden:hidden"
      >
        {open && children}
      </div>
    </li>
  );
}
