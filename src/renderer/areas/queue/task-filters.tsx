/**
 * Filters for tasks: by status, with counts, and by session, deployment and worker; words that are searched for on the page, and its groups. All of
 * them are in the address.
 */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { type TaskStatus, taskStatuses } from '../../../contracts/work-queue/task.ts';
import { FindAndGroup } from '../../base/selection.tsx';
import type { LinkKind } from './queries.ts';
import type { TasksSearch } from './search.ts';
import { taskGroupings } from './task-groups.ts';
import { shortCount, statusWords } from './task-words.ts';
import { useQueueServices } from './use-queue-services.ts';

type Change = (change: Partial<TasksSearch>) => void;

export function TaskFilters({
  of,
  search,
  onChange,
  onLook,
}: {
  /** What all of them belong to; null: they are of the whole queue. */
  of: LinkKind | null;
  search: TasksSearch;
  /** Other tasks are read. */
  onChange: Change;
  /** The tasks that were read are shown in another way. */
  onLook: Change;
}) {
  const { queries } = useQueueServices();
  const sessions = useQuery({ ...queries.workLinkNames('sessions'), enabled: of !== 'sessions' });
  const deployments = useQuery({ ...queries.workLinkNames('deployments'), enabled: of !== 'deployments' });
  return (
    <div className="sticky top-0 z-30 flex shrink-0 flex-wrap items-center gap-2 border-y border-line bg-panel px-2 py-1 max-sm:static">
      <StatusFilter status={search.status} counted={of === null} onChange={(status) => onChange({ status })} />
      <div className="flex min-w-0 flex-wrap gap-2 max-sm:w-full lg:ml-auto">
        <FindAndGroup
          label="Search this page of tasks"
          hint="Search page ( / )"
          text={search.q ?? ''}
          onText={(q) => onLook({ q: q === '' ? undefined : q })}
          groupLabel="Group tasks"
          grouping={search.group ?? 'none'}
          groupings={taskGroupings}
          onGrouping={(group) => onLook({ group: group === 'none' ? undefined : group })}
        />
        <TextFilter name="worker" value={search.worker_id} onChange={(worker_id) => onChange({ worker_id })} />
        {of !== 'sessions' && (
          <TextFilter
            name="session"
            value={search.session_id}
            options={sessions.data}
            onChange={(session_id) => onChange({ session_id })}
          />
        )}
        {of !== 'deployments' && (
          <TextFilter
            name="deployment"
            value={search.deployment_id}
            options={deployments.data}
            onChange={(deployment_id) => onChange({ deployment_id })}
          />
        )}
      </div>
    </div>
  );
}

function StatusFilter({
  status,
  counted,
  onChange,
}: {
  status: TaskStatus | undefined;
  /** Counts cover the whole queue; other lists have none. */
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
      {taskStatuses.map((one) => option(one, statusWords[one], counts[one]))}
    </fieldset>
  );
}

/** Asked when it is left or Enter is pressed: each is a question to the server. */
function TextFilter({
  name,
  value,
  options = {},
  onChange,
}: {
  name: string;
  value: string | undefined;
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
        data-set={value === undefined ? undefined : 'true'}
        defaultValue={value ?? ''}
        aria-label={`Filter by ${name}`}
        placeholder={`${name.charAt(0).toUpperCase()}${name.slice(1)}`}
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
          Press Enter ↵ to filter by the full {name === 'worker' ? 'name' : 'id'}
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
