/** One task in full: its state, its holder and lease, its payload and result; stopping it or putting it back. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { OctagonX, RotateCcw, X } from 'lucide-react';
import { useState } from 'react';
import type { Task } from '../../../contracts/work-queue/task.ts';
import { Button, IconButton } from '../../ui/button.tsx';
import { ShortId, shortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { StopTaskDialog } from './stop-task-dialog.tsx';
import { LeaseLeft, LinkTo, TaskAge, TaskStatus } from './task-parts.tsx';
import { commandResult, isHeld, isOver, labelWords, mayRetry, retryWords, stepOf, taskName } from './task-words.ts';
import { useQueueServices } from './use-queue-services.ts';

export function TaskDetails({ id, known, onClose }: { id: string; known: Task | undefined; onClose: () => void }) {
  const { queries } = useQueueServices();
  const task = useQuery({ ...queries.task(id), placeholderData: known });
  return (
    <section aria-label="Task" className="flex min-h-0 min-w-0 flex-1 flex-col bg-panel">
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line pr-2 pl-3">
        <h2
          className="min-w-0 flex-1 truncate font-mono text-code font-semibold"
          title={task.data === undefined ? undefined : taskName(task.data)}
        >
          {task.data === undefined ? 'Task' : taskName(task.data)}
        </h2>
        <IconButton label="Close the task" shortcut="Esc" onClick={onClose}>
          <X aria-hidden="true" />
        </IconButton>
      </header>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <ListStates source={task} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
          {(data) => <Body task={data} />}
        </ListStates>
      </div>
    </section>
  );
}

function Body({ task }: { task: Task }) {
  return (
    <div className="flex flex-col gap-3 p-3">
      <Verbs task={task} />
      <Facts task={task} />
      <Outcome task={task} />
      <Part title="Payload">
        <TextView text={JSON.stringify(task.payload, null, 2)} label="Payload" maxLines={16} wrap />
      </Part>
      <Environment key={task.id} env={task.env} />
    </div>
  );
}

function Facts({ task }: { task: Task }) {
  const { queries } = useQueueServices();
  const session = useQuery({
    ...queries.workLink('sessions', task.session_id ?? ''),
    enabled: task.session_id !== null,
  });
  const deployment = useQuery({
    ...queries.workLink('deployments', task.deployment_id ?? ''),
    enabled: task.deployment_id !== null,
  });
  const step = stepOf(task);
  return (
    <dl className="flex flex-col gap-1">
      <Fact name="Status">
        <span className="inline-flex flex-wrap items-center gap-x-2">
          <TaskStatus task={task} />
          {!isOver(task) && (
            <span className="text-muted">
              <TaskAge task={task} />
            </span>
          )}
        </span>
      </Fact>
      {task.waiting_for !== null && (
        <Fact name="Waiting">
          <span data-waits="true">{task.waiting_for}</span>
        </Fact>
      )}
      <Fact name="Attempts">
        <span className="tabular-nums">
          {task.attempts} of {task.max_attempts}
        </span>
      </Fact>
      {task.last_worker_id !== null && (
        <Fact name={isHeld(task) ? 'Held by' : 'Last held by'}>
          <Link
            to="/queue"
            search={{ worker_id: task.last_worker_id, task: task.id }}
            title="All tasks of this worker"
            className="rounded-control break-all text-accent underline"
          >
            {task.last_worker_id}
          </Link>{' '}
          <LeaseLeft task={task} />
        </Fact>
      )}
      {task.stop_requested && isHeld(task) && (
        <Fact name="Stop">requested; the worker learns of it at its next heartbeat, within 20 s</Fact>
      )}
      <Fact name="Created">
        <Ago at={task.created_at} />
      </Fact>
      {task.updated_at !== task.created_at && (
        <Fact name={isOver(task) ? 'Ended' : 'Changed'}>
          <Ago at={task.updated_at} />
        </Fact>
      )}
      {task.not_before !== null && (
        <Fact name="Not before">
          {new Date(task.not_before).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' })}
        </Fact>
      )}
      {task.priority !== 0 && (
        <Fact name="Priority">
          <span className="tabular-nums">{task.priority}</span>
        </Fact>
      )}
      {step !== null && (
        <Fact name="Step">
          <Link
            to="/work"
            search={{ dag: step.run, node: step.node, view: 'graph' }}
            title={step.node}
            className="rounded-control break-words text-accent underline"
          >
            {step.title ?? shortId(step.node)}
          </Link>
        </Fact>
      )}
      <Asks task={task} />
      {task.session_id !== null && (
        <Fact name="Session">
          <LinkTo kind="sessions" id={task.session_id} name={session.data?.name ?? undefined} />
        </Fact>
      )}
      {task.deployment_id !== null && (
        <Fact name="Deployment">
          <LinkTo kind="deployments" id={task.deployment_id} name={deployment.data?.name ?? undefined} />
        </Fact>
      )}
      {task.sandbox_image !== null && (
        <Fact name="Image">
          <span className="font-mono text-code break-all">{task.sandbox_image}</span>
        </Fact>
      )}
      <Fact name="Id">
        <ShortId id={task.id} />
      </Fact>
    </dl>
  );
}

/** Why it failed, and what its command or its worker gave back. */
function Outcome({ task }: { task: Task }) {
  const result = commandResult(task.result);
  return (
    <>
      {task.last_failure !== null && task.error === null && (
        <Part title={`Last failure: ${task.last_failure.code}`}>
          <TextView text={task.last_failure.message} label="Last failure" maxLines={6} wrap />
        </Part>
      )}
      {task.error !== null && (
        <Part title={`Error: ${task.error.code}`} tone="text-fail">
          <TextView text={task.error.message} label="Error" maxLines={12} wrap />
        </Part>
      )}
      {result !== null ? (
        <Part
          title="Result"
          aside={`exit code ${result.exitCode}${result.durationMs === null ? '' : `, ${(result.durationMs / 1000).toFixed(1)} s`}${result.truncated ? ', truncated' : ''}`}
        >
          {result.stdout !== '' && <TextView text={result.stdout} label="Output" maxLines={16} />}
          {result.stderr !== '' && <TextView text={result.stderr} label="Error output" maxLines={12} />}
          {result.stdout === '' && result.stderr === '' && <p className="text-muted">No output.</p>}
        </Part>
      ) : (
        task.result !== null &&
        task.result !== undefined && (
          <Part title="Result">
            <TextView text={JSON.stringify(task.result, null, 2)} label="Result" maxLines={16} />
          </Part>
        )
      )}
    </>
  );
}

/** What few tasks name: labels, retries, keys. */
function Asks({ task }: { task: Task }) {
  const labels = labelWords(task.labels);
  return (
    <>
      {labels !== '' && (
        <Fact name="Labels">
          <span className="font-mono text-code break-all">{labels}</span>
        </Fact>
      )}
      {task.retry !== null && (
        <Fact name="Retries">
          {retryWords(task.retry)}
          {task.failures > 0 && <span className="text-muted"> · failed {task.failures} so far</span>}
        </Fact>
      )}
      {task.concurrency_key !== null && (
        <Fact name="Concurrency">
          <span className="break-all">{task.concurrency_key}</span>
          <span className="text-muted tabular-nums"> · {task.concurrency_limit} at once</span>
        </Fact>
      )}
      {task.rate !== null && (
        <Fact name="Rate">
          <span className="break-all">{task.rate.key}</span>
          <span className="text-muted tabular-nums"> · {task.rate.per_minute} per minute</span>
        </Fact>
      )}
      {task.fairness_key !== null && (
        <Fact name="Fairness">
          <span className="break-all">{task.fairness_key}</span>
        </Fact>
      )}
    </>
  );
}

function Part({
  title,
  aside,
  tone = '',
  children,
}: {
  title: string;
  aside?: React.ReactNode;
  tone?: string;
  children: React.ReactNode;
}) {
  return (
    <section className="flex min-w-0 flex-col gap-1">
      <h3 className="flex items-center gap-2 text-meta text-muted">
        <span className={`min-w-0 truncate font-medium ${tone}`}>{title}</span>
        {aside !== undefined && <span className="ml-auto shrink-0 tabular-nums">{aside}</span>}
      </h3>
      {children}
    </section>
  );
}

/** Often secrets: not on the screen, nor in its elements, until somebody asks. */
function Environment({ env }: { env: Task['env'] }) {
  const [shown, setShown] = useState(false);
  const names = Object.keys(env);
  if (names.length === 0) return null;
  return (
    <Part
      title="Environment"
      aside={
        <button
          type="button"
          aria-pressed={shown}
          onClick={() => setShown(!shown)}
          className="rounded-control px-1 hover:text-ink pointer-coarse:h-10"
        >
          {shown ? 'Hide values' : 'Show values'}
        </button>
      }
    >
      <dl className="flex flex-col gap-0.5 font-mono text-code">
        {names.map((name) => (
          <div key={name} className="flex min-w-0 gap-2">
            <dt className="shrink-0 text-muted">{name}</dt>
            <dd className="min-w-0 break-all">
              {shown ? (
                env[name]
              ) : (
                <span className="text-faint">
                  <span aria-hidden="true">••••••</span>
                  <span className="sr-only">hidden</span>
                </span>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </Part>
  );
}

function Verbs({ task }: { task: Task }) {
  const { api, queueEvents } = useQueueServices();
  const [stopping, setStopping] = useState(false);
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  async function retry(): Promise<void> {
    if (busy) return;
    setBusy(true);
    setFailure(null);
    try {
      await api.queue.retryTask({ params: { id: task.id } });
    } catch (error) {
      setFailure(error);
    }
    queueEvents.touch();
    setBusy(false);
  }
  return (
    <>
      <div className="flex flex-wrap gap-2">
        {mayRetry(task) && (
          <Button icon={RotateCcw} disabled={busy} onClick={() => void retry()} data-verb="retry">
            Retry
          </Button>
        )}
        {!isOver(task) && (
          <Button icon={OctagonX} kind="danger" onClick={() => setStopping(true)} data-verb="stop">
            Stop
          </Button>
        )}
      </div>
      {failure !== null && <Problem error={failure} />}
      {stopping && <StopTaskDialog task={task} onClose={() => setStopping(false)} />}
    </>
  );
}
