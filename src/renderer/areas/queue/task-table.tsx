/**
 * One page of tasks as rows of one height. While the pointer is over them the rows keep their places, in groups those within
 * their group: what is new waits behind a button, so that nothing moves away under a click. A row with the focus keeps it wherever it moves.
 */
import { useQueries, useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Task } from '../../../contracts/work-queue/task.ts';
import { type Selection, Tick, TickAll } from '../../base/selection.tsx';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import type { LinkKind } from './queries.ts';
import { groupTasks, type TaskGrouping } from './task-groups.ts';
import { LeaseLeft, LinkTo, TaskAge, TaskStatus } from './task-parts.tsx';
import { attemptWords, isHeld, taskName } from './task-words.ts';
import { useHeldRows } from './use-held-rows.ts';
import { useQueueServices } from './use-queue-services.ts';

const head = 'h-7 border-b border-line px-2 text-left text-meta font-normal text-muted first:pl-3 last:pr-3';
const cell = 'h-7 px-2 first:pl-3 last:pr-3 pointer-coarse:h-11';
/** Where there is no room beside the name, the same stands in a second line below it. */
const wideOnly = '@max-[719px]:hidden';

interface TaskTableProps {
  readonly tasks: readonly Task[];
  /** They are another page's, until this one's have been read. */
  readonly passing: boolean;
  readonly selected: string | null;
  /** The owner of all rows: a column would repeat the same value. */
  readonly of: LinkKind | null;
  readonly grouping: TaskGrouping;
  readonly onOpen: (task: Task) => void;
  readonly selection: Selection;
}

export function TaskTable({ tasks, passing, selected, of, grouping, onOpen, selection }: TaskTableProps) {
  const [holding, setHolding] = useState(false);
  const { rows, gone, fresh, release } = useHeldRows(tasks, holding && !passing, selected);
  const names = {
    sessions: useNames('sessions', of === 'sessions' ? [] : rows.map((task) => task.session_id)),
    deployments: useNames('deployments', of === 'deployments' ? [] : rows.map((task) => task.deployment_id)),
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div
      className="@container relative"
      onKeyDown={moveByArrows}
      onPointerEnter={(event) => event.pointerType === 'mouse' && setHolding(true)}
      onPointerLeave={() => setHolding(false)}
    >
      {fresh > 0 && (
        <div className="pointer-events-none absolute inset-x-0 top-8 z-20 flex justify-center">
          <Button className="pointer-events-auto shadow-float" onClick={release}>
            Show {fresh} newer
          </Button>
        </div>
      )}
      <table className="w-full table-fixed border-collapse">
        <caption className="sr-only">Tasks, newest first</caption>
        <thead>
          <tr>
            <th scope="col" className={`${head} w-9 pointer-coarse:h-10`}>
              <TickAll selection={selection} ids={rows.map(({ id }) => id)} label="this page" />
            </th>
            <th scope="col" className={`${head} w-28 ${wideOnly}`}>
              Status
            </th>
            <th scope="col" className={head}>
              Task
            </th>
            <th scope="col" className={`${head} w-32 ${wideOnly}`}>
              Age
            </th>
            <th scope="col" className={`${head} w-20 ${wideOnly}`}>
              Attempts
            </th>
            <th scope="col" className={`${head} w-52 ${wideOnly}`}>
              Worker
            </th>
            {of !== 'sessions' && (
              <th scope="col" className={`${head} w-36 @max-[1019px]:hidden`}>
                Session
              </th>
            )}
            {of !== 'deployments' && (
              <th scope="col" className={`${head} w-36 @max-[1019px]:hidden`}>
                Deployment
              </th>
            )}
          </tr>
        </thead>
        {groupTasks(rows, grouping, names).map((group) => (
          <tbody key={group.name}>
            {group.name !== '' && (
              <tr>
                <th scope="rowgroup" className="relative h-9 pb-1 pl-3 text-left align-bottom text-meta text-muted">
                  <TickAll selection={selection} ids={group.rows.map(({ id }) => id)} label={group.name} />
                  <span className="absolute bottom-1 left-9 w-max max-w-80 truncate pl-2 font-semibold">
                    {group.name} <span className="font-normal tabular-nums">{group.rows.length}</span>
                  </span>
                </th>
              </tr>
            )}
            {group.rows.map((task) => (
              <TaskRow
                key={task.id}
                task={task}
                selected={task.id === selected}
                gone={gone.has(task.id)}
                of={of}
                names={names}
                selection={selection}
                onOpen={onOpen}
              />
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

/** `gone`: it is held in its place though it is no longer of this page. */
function TaskRow({
  task,
  selected,
  gone,
  of,
  names,
  selection,
  onOpen,
}: Pick<TaskTableProps, 'of' | 'selection' | 'onOpen'> & {
  task: Task;
  selected: boolean;
  gone: boolean;
  names: Readonly<Record<LinkKind, Readonly<Record<string, string>>>>;
}) {
  return (
    <tr
      data-status={task.status}
      data-ticks={task.id}
      className={`relative hover:bg-raised ${selected ? 'bg-selected hover:bg-selected' : ''} ${gone ? 'opacity-60' : ''}`}
    >
      <td className={cell}>
        <Tick selection={selection} id={task.id} label={taskName(task)} className="relative z-10 align-middle" />
      </td>
      <td className={`${cell} ${wideOnly}`}>
        <TaskStatus task={task} />
      </td>
      <td className={`${cell} @max-[719px]:py-1.5`}>
        <div className="flex min-w-0 items-baseline gap-3">
          <button
            type="button"
            data-row="true"
            data-task={task.id}
            aria-current={selected ? 'true' : undefined}
            onClick={() => onOpen(task)}
            title={taskName(task)}
            className="min-w-0 flex-1 truncate text-left font-mono text-code after:absolute after:inset-0 after:rounded-control focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
          >
            {taskName(task)}
          </button>
          {task.waiting_for !== null && (
            <span
              className="max-w-[45%] min-w-0 shrink-0 truncate text-meta text-muted @max-[719px]:hidden"
              title={task.waiting_for}
            >
              {task.waiting_for}
            </span>
          )}
          {task.error !== null && (
            <span
              className="max-w-[45%] min-w-0 shrink-0 truncate text-meta text-fail @max-[719px]:hidden"
              title={`${task.error.code}: ${task.error.message}`}
            >
              {task.error.message}
            </span>
          )}
        </div>
        <div className="flex min-w-0 flex-wrap items-center gap-x-2 text-meta text-muted @min-[720px]:hidden">
          <TaskStatus task={task} />
          <TaskAge task={task} />
          <span className="tabular-nums">attempt {attemptWords(task)}</span>
          {task.last_worker_id !== null && <span className="min-w-0 truncate">{task.last_worker_id}</span>}
          <LeaseLeft task={task} />
          {task.waiting_for !== null && <span className="w-full truncate">{task.waiting_for}</span>}
          {task.error !== null && <span className="w-full truncate text-fail">{task.error.message}</span>}
        </div>
      </td>
      <td className={`${cell} truncate text-muted ${wideOnly}`}>
        <TaskAge task={task} />
      </td>
      <td className={`${cell} text-muted tabular-nums ${wideOnly}`}>{attemptWords(task)}</td>
      <td className={`${cell} ${wideOnly}`}>
        {task.last_worker_id !== null && (
          <span className={`flex min-w-0 items-baseline gap-2 ${isHeld(task) ? '' : 'text-muted'}`}>
            <span className="min-w-0 flex-1 truncate" title={task.last_worker_id}>
              {task.last_worker_id}
            </span>
            <span className="shrink-0 text-meta">
              <LeaseLeft task={task} />
            </span>
          </span>
        )}
      </td>
      {of !== 'sessions' && (
        <td className={`${cell} truncate @max-[1019px]:hidden`}>
          {task.session_id !== null && (
            <span className="relative z-10">
              <LinkTo kind="sessions" id={task.session_id} name={names.sessions[task.session_id]} />
            </span>
          )}
        </td>
      )}
      {of !== 'deployments' && (
        <td className={`${cell} truncate @max-[1019px]:hidden`}>
          {task.deployment_id !== null && (
            <span className="relative z-10">
              <LinkTo kind="deployments" id={task.deployment_id} name={names.deployments[task.deployment_id]} />
            </span>
          )}
        </td>
      )}
    </tr>
  );
}

/** Names of these tasks' owners: the newest ones in one request, each other one in its own. */
function useNames(kind: LinkKind, ids: readonly (string | null)[]): Readonly<Record<string, string>> {
  const { queries } = useQueueServices();
  const needed = [...new Set(ids)].filter((id) => id !== null);
  const list = useQuery({ ...queries.workLinkNames(kind), enabled: needed.length > 0 });
  const names = list.data ?? {};
  const others = list.data === undefined ? [] : needed.filter((id) => !(id in names));
  const found = useQueries({ queries: others.map((id) => queries.workLink(kind, id)) });
  return { ...names, ...Object.fromEntries(found.flatMap(({ data }) => (data ? [[data.id, data.name ?? '']] : []))) };
}
