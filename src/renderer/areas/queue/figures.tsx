/** The queue's figures: the age of waiting tasks, the workers, and which of them drain. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { QueueWorker } from '../../../contracts/work-queue/task.ts';
import { Command } from '../../ui/copy.tsx';
import { Ago, Elapsed } from '../../ui/now.tsx';
import { Status, workerStatus } from '../../ui/status.tsx';
import { abilityWords, barsOf, commandLines, shortCount } from './task-words.ts';
import { useQueueServices } from './use-queue-services.ts';

const box = 'flex min-w-0 flex-col overflow-hidden rounded-panel border border-line bg-panel';
const title = 'flex h-8 shrink-0 items-center gap-2 border-b border-line px-3';

/** Below this a bar could not be seen. */
const leastHeight = 2;
const barHeight = 72;

export function Figures({ onWorker }: { onWorker: (id: string) => void }) {
  return (
    <div className="grid shrink-0 gap-3 p-3 md:grid-cols-2">
      <Ages />
      <Workers onWorker={onWorker} />
    </div>
  );
}

function Ages() {
  const { queries } = useQueueServices();
  const { data } = useQuery(queries.queueStats);
  const bars = data === undefined ? [] : barsOf(data.ages);
  return (
    <section aria-labelledby="queue-ages" className={box}>
      <header className={title}>
        <h2 id="queue-ages" className="font-semibold">
          Waiting time
        </h2>
        <p className="ml-auto min-w-0 truncate text-meta text-muted" data-oldest="true">
          {data !== undefined && data.oldest_queued_at !== null && (
            <>
              oldest <Elapsed since={data.oldest_queued_at} />
              {data.scheduled > 0 && ' · '}
            </>
          )}
          {data !== undefined && data.scheduled > 0 && (
            <span className="tabular-nums">{data.scheduled.toLocaleString()} scheduled</span>
          )}
        </p>
        <Link to="/queue/history" className="shrink-0 rounded-control text-meta text-accent hover:underline">
          History
        </Link>
      </header>
      <ol className="grid h-[120px] grid-cols-7 gap-2 px-3 pt-2 pb-1.5" aria-label="Waiting tasks by age">
        {bars.map(({ label, count, share }) => (
          <li
            key={label}
            title={`${label}: ${count.toLocaleString()}`}
            className="flex min-w-0 flex-col items-center justify-end text-meta tabular-nums"
          >
            <span className={count === 0 ? 'sr-only' : ''}>{shortCount(count)}</span>
            <span
              aria-hidden="true"
              className={`w-full rounded-sm ${count === 0 ? 'bg-line' : 'bg-line-strong'}`}
              style={{ height: count === 0 ? 1 : Math.max(leastHeight, Math.round(share * barHeight)) }}
            />
            <span className="pt-0.5 whitespace-nowrap text-muted">{label}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Workers({ onWorker }: { onWorker: (id: string) => void }) {
  const { queries } = useQueueServices();
  const { data } = useQuery(queries.queueWorkers);
  const workers = data?.workers ?? [];
  const counts = new Map<string, number>();
  for (const { word } of workers.map(workerStatus)) counts.set(word, (counts.get(word) ?? 0) + 1);
  return (
    <section aria-labelledby="queue-workers" className={box}>
      <header className={title}>
        <h2 id="queue-workers" className="font-semibold">
          Workers
        </h2>
        <p className="ml-auto text-meta text-muted tabular-nums" data-workers="true">
          {[...counts].map(([word, count]) => `${count} ${word.toLowerCase()}`).join(' · ')}
        </p>
      </header>
      {data !== undefined && workers.length === 0 ? (
        <div className="flex min-h-[120px] flex-col items-start gap-1.5 px-3 py-2 text-muted">
          <p>No workers connected. Start a worker, on any computer, in a clone of Gantry:</p>
          <Command text={commandLines(window.location.origin).work} />
        </div>
      ) : (
        <ul className="h-[120px] overflow-y-auto py-1 pointer-coarse:h-[168px]" aria-label="Workers">
          {workers.map((worker) => (
            <WorkerRow key={worker.worker_id} worker={worker} onOpen={() => onWorker(worker.worker_id)} />
          ))}
        </ul>
      )}
    </section>
  );
}

function WorkerRow({ worker, onOpen }: { worker: QueueWorker; onOpen: () => void }) {
  const look = workerStatus(worker);
  const abilities = abilityWords(worker);
  return (
    <li data-worker={worker.worker_id}>
      <button
        type="button"
        onClick={onOpen}
        title={`Tasks of ${worker.worker_id}`}
        className="flex h-7 w-full min-w-0 items-center gap-3 px-3 text-left hover:bg-raised pointer-coarse:h-10"
      >
        <span className="w-20 shrink-0">
          <Status look={look} wire={worker.draining ? 'draining' : worker.polling ? 'polling' : 'not polling'} />
        </span>
        <span className="min-w-0 flex-1 truncate">{worker.worker_id}</span>
        {abilities !== '' && (
          <span className="max-w-[45%] min-w-0 truncate text-meta text-muted" title={abilities}>
            {abilities}
          </span>
        )}
        <span className="shrink-0 text-meta text-muted tabular-nums">
          {worker.holding > 0 ? (
            `holds ${worker.holding}`
          ) : worker.last_seen_at !== null && !worker.polling ? (
            <>
              {!worker.draining && 'seen '}
              <Ago at={worker.last_seen_at} />
            </>
          ) : (
            'idle'
          )}
        </span>
      </button>
    </li>
  );
}
