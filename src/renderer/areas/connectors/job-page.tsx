/** One job of a rule: its state and reason, the person's actions, its output, its attempts and its history. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Check, OctagonX, RotateCcw, X } from 'lucide-react';
import { useCallback, useEffect, useMemo } from 'react';
import { toast } from 'sonner';
import type { Job, JobAttempt } from '../../../contracts/connectors/rule.ts';
import type { Action } from '../../base/actions.ts';

import { OpenBar } from '../../base/place-frame.tsx';
import { useAddActions } from '../../base/services.tsx';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { Button } from '../../ui/button.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Fact } from '../../ui/fact.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago, Elapsed, formatElapsed } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { ReadText } from '../../ui/read-text.tsx';
import { jobStatus, lastKnown, Status } from '../../ui/status.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useAct } from '../../ui/use-act.ts';
import { jobName, limitWords, modeWords, usageWords, verbsOf } from './connector-words.ts';
import { EventName } from './event-name.tsx';
import { TicketData } from './ticket-data.tsx';
import { useConnectorServices, useTouchConnector } from './use-connector-services.ts';
import type { WithinConnector } from './within.ts';

interface JobPageOf {
  readonly runs: readonly Job[];
  readonly nextCursor: string | null;
}

export function JobPage({
  id,
  connector,
  go,
  onBack,
  sub,
  job: jobId,
}: WithinConnector & { sub: string; job: string }) {
  const { keys, queries } = useConnectorServices();
  const client = useQueryClient();
  const job = useQuery(queries.job(id, sub, jobId));
  const { data } = job;
  // The rows that lead back say the same at once, not first what they said before.
  useEffect(() => {
    if (data === undefined) return;
    client.setQueriesData<JobPageOf>({ queryKey: keys.connector(id, sub, 'runs') }, (old) =>
      old === undefined
        ? old
        : { ...old, runs: old.runs.map((one) => (one.id === data.id ? { ...data, output: null } : one)) },
    );
  }, [client, keys, id, sub, data]);
  const events = useQuery(queries.connectorEvents(id));
  const name = [...(events.data?.subscriptions ?? []), ...(events.data?.archivedSubscriptions ?? [])].find(
    (one) => one.id === sub,
  )?.name;
  return (
    <>
      <OpenBar
        back="Back to the jobs"
        onBack={onBack}
        within={{ name: name ?? connector?.name ?? 'Jobs', onOpen: () => go({ connector: id, sub, part: 'runs' }) }}
        title={job.data === undefined ? 'Job' : jobName(job.data)}
      >
        <span role="status">
          {job.data !== undefined && <Status look={jobStatus[job.data.status]} wire={job.data.status} />}
        </span>
      </OpenBar>
      <ListStates fill source={job} skeleton={<SkeletonRows count={8} />} isEmpty={() => false} empty={null}>
        {(one) => <Body id={id} sub={sub} job={one} />}
      </ListStates>
    </>
  );
}

function Body({ id, sub, job }: { id: string; sub: string; job: Job }) {
  const nameOf = useNameOfBot();
  const { config, output, error, reason } = job;
  return (
    <div className="@container flex min-w-0 flex-1 flex-col">
      <div className="grid min-w-0 flex-1 content-start @min-[820px]:content-stretch @min-[820px]:grid-cols-[minmax(0,1fr)_320px]">
        <div className="flex min-w-0 flex-col gap-3 p-3">
          <Verbs id={id} sub={sub} job={job} />
          {reason !== null && <p className="break-words text-muted">{reason}</p>}
          {error !== null && (
            <Part title="Error">
              <TextView text={error} label="What went wrong" maxLines={12} wrap />
            </Part>
          )}
          <Part title="Output">
            {output === null ? (
              <p className="text-muted">{job.attempts.length === 0 ? 'This job has not started.' : 'No output yet.'}</p>
            ) : (
              <ReadText text={output} label="Output text" markdown="rather" maxLines={30} />
            )}
          </Part>
          {job.ticketId !== null && (
            <Part title={job.eventIds.length === 1 ? 'Event' : 'First event'}>
              <TicketData id={job.ticketId} />
            </Part>
          )}
          <Part title="Instructions">
            <TextView text={config.instructions} label="Instruction text" maxLines={12} wrap />
          </Part>
        </div>
        <aside
          aria-label="About the job"
          className="flex min-w-0 flex-col gap-3 border-line p-3 @max-[819px]:border-t @min-[820px]:border-l"
        >
          <dl className="flex flex-col gap-1">
            <Fact name="Bot">{nameOf(config.botId)}</Fact>
            <Fact name="Mode">
              <span title={modeWords[config.executionMode].says}>{modeWords[config.executionMode].word}</span>
            </Fact>
            <Fact name="Limits">{limitWords(config)}</Fact>
            <Fact name="Events">
              <ul>
                {job.eventIds.map((eventId, index) => (
                  <li key={eventId} className="flex min-w-0">
                    <EventName event={{ eventId, about: index === 0 ? job.about : null }} />
                  </li>
                ))}
              </ul>
            </Fact>
            {job.ticketId !== null && (
              <Fact name="Ticket">
                <ShortId id={job.ticketId} />
              </Fact>
            )}
            <Fact name="Created">
              <Ago at={job.createdAt} />
            </Fact>
          </dl>
          {job.attempts.length > 0 && (
            <Part title="Attempts">
              <ol className="flex flex-col gap-1">
                {job.attempts.map((one) => (
                  <Attempt key={one.number} attempt={one} />
                ))}
              </ol>
            </Part>
          )}
          <History id={id} sub={sub} job={job} />
        </aside>
      </div>
    </div>
  );
}

const verbs = {
  approve: { word: 'Approve', title: 'Approve the job', icon: Check, kind: 'primary', keys: 'a' },
  deny: { word: 'Deny', title: 'Deny the job', icon: X, kind: 'danger', keys: 'r' },
  retry: { word: 'Retry', title: 'Retry the job', icon: RotateCcw, kind: 'plain', keys: undefined },
  stop: { word: 'Stop', title: 'Stop the job', icon: OctagonX, kind: 'danger', keys: undefined },
} as const;
type Verb = keyof typeof verbs;

function Verbs({ id, sub, job }: { id: string; sub: string; job: Job }) {
  const { api, keys, queries } = useConnectorServices();
  const client = useQueryClient();
  const touch = useTouchConnector();
  const asked = useQuery(queries.approvals).data?.approvals.find(
    ({ source, runId }) => source === 'automation' && runId === job.id,
  )?.id;
  // Who sees the question need not be told of it.
  useEffect(() => {
    if (asked !== undefined) toast.dismiss(`approval ${asked}`);
  }, [asked]);
  const act = useAct(async (verb: Verb) => {
    const call = {
      approve: api.connectors.approveAutomationRun,
      deny: api.connectors.denyAutomationRun,
      retry: api.connectors.retryAutomationRun,
      stop: api.connectors.stopAutomationRun,
    }[verb];
    try {
      const next = await call({ params: { id, sid: sub, jid: job.id } });
      client.setQueryData(queries.job(id, sub, job.id).queryKey, next);
    } finally {
      // Somebody else may have been faster: what it is now is shown in any case.
      touch(id);
      void client.invalidateQueries({ queryKey: keys.approvals });
    }
  });
  const { run } = act;
  const mine = verbsOf(job).join(' ');
  const press = useCallback((verb: Verb) => run(verb), [run]);
  const actions = useMemo<readonly Action[]>(
    () =>
      mine.split(' ').flatMap((name): readonly Action[] => {
        const verb = verbs[name as Verb];
        if (verb === undefined) return [];
        return [
          {
            id: `job-${name}`,
            title: verb.title,
            group: 'Connectors',
            changes: 'at once',
            ...(verb.keys === undefined ? {} : { keys: verb.keys }),
            run: () => press(name as Verb),
          },
        ];
      }),
    [mine, press],
  );
  useAddActions(actions);
  if (mine === '' && act.failure === null) return null;
  return (
    <div>
      <div className="flex flex-wrap items-center gap-2">
        {verbsOf(job).map((name) => {
          const { word, icon: Icon, kind, keys: shortcut } = verbs[name];
          return (
            <Button
              icon={Icon}
              key={name}
              kind={kind}
              disabled={act.busy}
              aria-keyshortcuts={shortcut}
              onClick={() => run(name)}
            >
              {word}
            </Button>
          );
        })}
        {job.status === 'awaiting_approval' && <span className="text-muted">It starts only after you approve it.</span>}
      </div>
      {act.failure !== null && <Problem error={act.failure} />}
    </div>
  );
}

function Attempt({ attempt }: { attempt: JobAttempt }) {
  const { number, status, startedAt, endedAt, usage, error } = attempt;
  return (
    <li className="flex min-w-0 flex-col">
      <span className="flex items-center gap-2">
        <span className="text-muted tabular-nums">{number}.</span>
        <Status look={jobStatus[status]} wire={status} />
        <span className="ml-auto text-meta text-muted tabular-nums">
          {endedAt === null ? (
            <Elapsed since={startedAt} />
          ) : (
            formatElapsed(Date.parse(endedAt) - Date.parse(startedAt))
          )}
        </span>
      </span>
      {usage !== null && <span className="pl-5 text-meta text-muted tabular-nums">{usageWords(usage)}</span>}
      {error !== null && <span className="pl-5 text-meta break-words text-muted">{error}</span>}
    </li>
  );
}

function History({ id, sub, job }: { id: string; sub: string; job: Job }) {
  const { queries } = useConnectorServices();
  const me = useQuery(queries.session).data?.user;
  const { data } = useQuery(
    queries.jobEvents(id, sub, job.id, `${job.status} ${job.attempts.length} ${job.reason ?? ''}`),
  );
  return (
    <Part title="History">
      {data === undefined ? (
        <SkeletonRows count={3} />
      ) : (
        <ol className="flex flex-col gap-1">
          {data.map((event, index) => (
            <li key={event.index} className="min-w-0">
              <span className="flex items-center gap-2">
                <Status
                  look={index < data.length - 1 ? lastKnown(jobStatus[event.status]) : jobStatus[event.status]}
                  wire={event.status}
                />
                <span className="min-w-0 truncate text-meta text-muted">
                  {event.actor === 'engine' ? '' : `by ${event.actor === me ? 'you' : event.actor}`}
                </span>
                <span className="ml-auto text-meta text-muted">
                  <Ago at={event.at} />
                </span>
              </span>
              {event.reason !== null && (
                <span className="block pl-5 text-meta break-words text-muted">{event.reason}</span>
              )}
            </li>
          ))}
        </ol>
      )}
    </Part>
  );
}

function Part({ title, children }: { title: string; children: React.ReactNode }) {
  return (
    <section aria-label={title} className="flex min-w-0 flex-col gap-1">
      <h2 className="text-meta text-muted">{title}</h2>
      {children}
    </section>
  );
}
