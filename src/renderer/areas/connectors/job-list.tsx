/** What the rules of a subscription ran, newest first, narrowed to a status by the address. */
import { useQuery } from '@tanstack/react-query';
import { type Job, JobStatus, jobStatuses } from '../../../contracts/connectors/rule.ts';
import { useNameOfBot } from '../../app/use-name-of-bot.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { Pages } from '../../ui/pages.tsx';
import { jobStatus, Status } from '../../ui/status.tsx';
import { jobName } from './connector-words.ts';
import { useConnectorServices } from './use-connector-services.ts';

const rowHeight = 48;

export function JobList({
  id,
  sub,
  status,
  cursor,
  onNarrow,
  onOpen,
}: {
  id: string;
  sub: string;
  status: JobStatus | undefined;
  cursor: string | undefined;
  onNarrow: (change: { status?: JobStatus | undefined; cursor?: string | undefined }) => void;
  onOpen: (run: string) => void;
}) {
  const { queries } = useConnectorServices();
  const jobs = useQuery(queries.jobs(id, sub, status, cursor));
  const nameOf = useNameOfBot();
  const page = (next: string | undefined) => onNarrow({ status, cursor: next });
  return (
    <section aria-label="Runs" onKeyDown={moveByArrows}>
      <div className="flex items-center gap-2 border-b border-line px-3 py-1">
        <select
          aria-label="Status of runs"
          value={status ?? ''}
          onChange={(event) => onNarrow({ status: JobStatus.safeParse(event.target.value).data })}
          className="h-7 rounded-control border border-line bg-raised px-1.5 pointer-coarse:h-10"
        >
          <option value="">All runs</option>
          {jobStatuses.map((one) => (
            <option key={one} value={one}>
              {jobStatus[one].word}
            </option>
          ))}
        </select>
      </div>
      <ListStates
        source={jobs}
        skeleton={<SkeletonRows count={6} height={rowHeight} />}
        isEmpty={({ runs }) => runs.length === 0}
        empty={
          cursor !== undefined ? (
            <Pages noun="runs" cursor={cursor} next={null} count={0} onCursor={page} />
          ) : status === undefined ? (
            <Empty>Runs that rules begin will be here, with what each wrote.</Empty>
          ) : (
            <Empty action={<Button onClick={() => onNarrow({})}>Show all runs</Button>}>No run is in this state.</Empty>
          )
        }
      >
        {({ runs, nextCursor }) => (
          <div className={jobs.isPlaceholderData ? 'opacity-60' : ''}>
            <ul>
              {runs.map((job) => (
                <li key={job.id} className="border-b border-line">
                  <JobRow job={job} bot={nameOf(job.config.botId)} onOpen={() => onOpen(job.id)} />
                </li>
              ))}
            </ul>
            <Pages noun="runs" cursor={cursor} next={nextCursor} count={runs.length} onCursor={page} />
          </div>
        )}
      </ListStates>
    </section>
  );
}

function JobRow({ job, bot, onOpen }: { job: Job; bot: string; onOpen: () => void }) {
  return (
    <button
      type="button"
      data-row="true"
      data-run={job.id}
      onClick={onOpen}
      className="grid w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-3 py-1 text-left hover:bg-raised sm:grid-cols-[minmax(0,1fr)_112px_80px_88px]"
      style={{ minHeight: rowHeight }}
    >
      <span className="min-w-0">
        <span className="block truncate font-medium" title={job.about ?? jobName(job)}>
          {job.about ?? jobName(job)}
        </span>
        <span className="block truncate text-meta text-muted">
          {bot}
          {job.about !== null && ` · ${jobName(job)}`}
          {job.reason !== null && ` · ${job.reason}`}
        </span>
      </span>
      <Status look={jobStatus[job.status]} wire={job.status} />
      <span className="text-meta text-muted tabular-nums max-sm:hidden">
        {countWords(job.eventIds.length, 'event')}
      </span>
      <span className="text-right text-meta text-muted max-sm:hidden">
        <Ago at={job.createdAt} />
      </span>
    </button>
  );
}
