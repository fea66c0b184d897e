/** Which tasks are shown: by status with how many there are, and by session, deployment and worker. All of it is in the address. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type TaskStatus, taskStatuses } from '../../../contracts/work-queue/task.ts';
import type { TasksSearch } from './search.ts';
import { shortCount } from './task-words.ts';
import { useQueueServices } from './use-queue-services.ts';

const words: Readonly<Record<TaskStatus, string>> = {
  queued: 'Queued',
  leased: 'Leased',
  running: 'Running',
  succeeded: 'Succeeded',
  failed: 'Failed',
  cancelled: 'Cancelled',
};

export type Change = (change: Partial<TasksSearch>) => void;

export function StatusFilter({
  status,
  counted,
  onChange,
}: {
  status: TaskStatus | undefined;
  /** The counts are of the whole queue; elsewhere there are none. */
  counted: boolean;
  onChange: (status: TaskStatus | undefined) => void;
}) {
  const { queries } = useQueueServices();
  const stats = useQuery({ ...queries.queueStats, enabled: counted }).data;
  const counts: Partial<Record<TaskStatus, string>> =
    stats === undefined || !counted
      ? {}
      : {
          queued: shortCount(stats.depth + stats.scheduled),
          leased: shortCount(stats.leased),
          running: shortCount(stats.running),
          failed: shortCount(stats.failed),
        };
  const option = (value: TaskStatus | undefined, word: string, count?: string) => (
    <button
      key={word}
      type="button"
      aria-pressed={value === status}
      data-status-filter={value ?? 'all'}
      onClick={() => onChange(value)}
      className="inline-flex h-7 shrink-0 items-center gap-1.5 rounded-control px-2 whitespace-nowrap text-muted hover:bg-raised hover:text-ink aria-pressed:bg-selected aria-pressed:text-ink pointer-coarse:h-10"
    >
      {word}
      {count !== undefined && (
        <span className={`min-w-3 text-meta tabular-nums ${value === 'failed' && count !== '0' ? 'text-fail' : ''}`}>
          {count}
        </span>
      )}
    </button>
  );
  return (
    <fieldset aria-label="Status" className="flex min-w-0 flex-wrap gap-0.5">
      {option(undefined, 'All')}
      {taskStatuses.map((one) => option(one, words[one], counts[one]))}
    </fieldset>
  );
}

/** Asked when it is left or Enter is pressed: each is a question to the server. */
export function TextFilter({
  name,
  value,
  first = false,
  options = {},
  onChange,
}: {
  name: string;
  value: string | undefined;
  /** `/` goes here. */
  first?: boolean;
  /** Ids and their names, offered while typing. */
  options?: Readonly<Record<string, string>>;
  onChange: (value: string | undefined) => void;
}) {
  const list = `queue-filter-${name}`;
  const [typed, setTyped] = useState(false);
  const take = (text: string): void => {
    setTyped(false);
    const next = text.trim() === '' ? undefined : text.trim();
    if (next !== value) onChange(next);
  };
  return (
    <span className="relative inline-flex max-sm:flex-1 max-sm:basis-24">
      <input
        key={value ?? ''}
        type="search"
        data-filter={first ? 'true' : undefined}
        data-set={value === undefined ? undefined : 'true'}
        defaultValue={value ?? ''}
        aria-label={`Filter by ${name}`}
        placeholder={first ? `${name} ( / )` : name}
        spellCheck={false}
        autoComplete="off"
        list={Object.keys(options).length === 0 ? undefined : list}
        onChange={(event) => {
          // Chosen from the list, or emptied by its cross: nobody types on.
          if (event.target.value === '' || event.target.value in options) take(event.target.value);
          else setTyped(true);
        }}
        onBlur={(event) => take(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') take(event.currentTarget.value);
        }}
        className="h-7 w-32 min-w-0 rounded-control border border-line bg-window px-2 data-set:border-accent max-sm:flex-1 pointer-coarse:h-10"
      />
      {typed && (
        <span
          aria-hidden="true"
          className="pointer-events-none absolute inset-x-0 top-full z-40 mt-1 rounded-control border border-line bg-panel px-2 text-meta text-muted shadow-float"
        >
          Enter ↵ filters by the whole {name === 'worker' ? 'name' : 'id'}
        </span>
      )}
      {Object.keys(options).length > 0 && (
        <datalist id={list}>
          {Object.entries(options).map(([id, label]) => (
            <option key={id} value={id}>
              {label}
            </option>
          ))}
        </datalist>
      )}
    </span>
  );
}
