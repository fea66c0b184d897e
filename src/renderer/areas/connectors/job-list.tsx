/** Jobs of a subscription's rules, newest first, filtered by the status in the address. */
import { useQuery } from '@tanstack/react-query';
import { JobStatus, jobStatuses } from '../../../contracts/connectors/rule.ts';
import { useNameOfBot } from '../../base/use-name-of-bot.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Empty, SkeletonRows } from '../../ui/list-states.tsx';
import { Ago } from '../../ui/now.tsx';
import { PagedList } from '../../ui/pages.tsx';
import { RunRow, runRowHeight } from '../../ui/run-row.tsx';
import { jobStatus, Status } from '../../ui/status.tsx';
import { jobName } from './connector-words.ts';
import { useConnectorServices } from './use-connector-services.ts';

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
  onOpen: (job: string) => void;
}) {
  const { queries } = useConnectorServices();
  const jobs = useQuery(queries.jobs(id, sub, status, cursor));
  const nameOf = useNameOfBot();
  return (
    <section aria-label="Jobs" onKeyDown={moveByArrows}>
      <div className="flex items-center gap-2 border-b border-line px-3 py-1">
        <select
          aria-label="Status of jobs"
          value={status ?? ''}
          onChange={(event) => onNarrow({ status: JobStatus.safeParse(event.target.value).data })}
          className="h-7 rounded-control border border-line bg-raised px-1.5 pointer-coarse:h-10"
        >
          <option value="">All jobs</option>
          {jobStatuses.map((one) => (
            <option key={one} value={one}>
              {jobStatus[one].word}
            </option>
          ))}
        </select>
      </div>
      <PagedList
        source={jobs}
        noun="jobs"
        rowsOf={({ runs }) => runs}
        cursor={cursor}
        onCursor={(next) => onNarrow({ status, cursor: next })}
        skeleton={<SkeletonRows count={6} height={runRowHeight} />}
        empty={
          status === undefined ? (
            <Empty>Jobs that rules start appear here, with their output.</Empty>
          ) : (
            <Empty action={<Button onClick={() => onNarrow({})}>Show all jobs</Button>}>
              No jobs have this status.
            </Empty>
          )
        }
      >
        {(list) => (
          <ul>
            {list.map((job) => (
              <RunRow
                key={job.id}
                id={job.id}
                name={job.about ?? jobName(job)}
                about={[nameOf(job.config.botId), job.about !== null && jobName(job), job.reason]
                  .filter((one) => typeof one === 'string')
                  .join(' · ')}
                status={<Status look={jobStatus[job.status]} wire={job.status} />}
                count={countWords(job.eventIds.length, 'event')}
                when={<Ago at={job.createdAt} />}
                onOpen={onOpen}
              />
            ))}
          </ul>
        )}
      </PagedList>
    </section>
  );
}
