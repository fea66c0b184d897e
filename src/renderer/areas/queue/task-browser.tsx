/** Tasks by page: filters, rows, an inspector beside them or over them, live. The queue's page and those of what tasks belong to. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Task } from '../../../contracts/work-queue/task.ts';
import type { Action } from '../../base/actions.ts';
import { useSelection, useTickKey } from '../../base/selection.tsx';
import { useAddActions } from '../../base/services.tsx';
import { useTight } from '../../base/use-narrow.ts';
import { backAction, filterAction, focusIn, stepOut } from '../../base/way-back.ts';
import { Button } from '../../ui/button.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { HandInDialog } from './hand-in-dialog.tsx';
import { ManyTasks } from './many-tasks.tsx';
import type { LinkKind, TaskFilter } from './queries.ts';
import type { TasksSearch } from './search.ts';
import { TaskDetails } from './task-details.tsx';
import { TaskFilters } from './task-filters.tsx';
import { tasksSaying } from './task-groups.ts';
import { TaskTable } from './task-table.tsx';
import { useQueueServices } from './use-queue-services.ts';

interface TaskBrowserProps {
  /** Whose tasks: a session's, a deployment's, or null for all. */
  readonly of: { readonly kind: LinkKind; readonly id: string } | null;
  /** Stands above the filters, with the way to hand in a task. */
  readonly header: (handIn: () => void) => ReactNode;
  /** Where there is no task at all. */
  readonly empty: (handIn: () => void) => ReactNode;
  /** What Escape does when nothing is open. */
  readonly onBack?: () => void;
}

export function TaskBrowser({ of, header, empty, onBack }: TaskBrowserProps) {
  const { queries, queueEvents } = useQueueServices();
  const search = useSearch({ strict: false }) as TasksSearch;
  const navigate = useNavigate();
  const tight = useTight();
  const page = useRef<HTMLDivElement>(null);
  const [handingIn, setHandingIn] = useState(false);
  useEffect(() => queueEvents.watch(), [queueEvents]);

  const filter: TaskFilter = {
    ...(search.status === undefined ? {} : { status: search.status }),
    ...(search.worker_id === undefined ? {} : { worker_id: search.worker_id }),
    ...(search.session_id === undefined ? {} : { session_id: search.session_id }),
    ...(search.deployment_id === undefined ? {} : { deployment_id: search.deployment_id }),
    ...(of === null ? {} : of.kind === 'sessions' ? { session_id: of.id } : { deployment_id: of.id }),
  };
  const filtered = [search.status, search.worker_id, search.session_id, search.deployment_id].some((one) => one);
  const rows = useQuery(queries.taskPage(filter, search.cursor));

  const go = useCallback(
    (change: Partial<TasksSearch>, replace = false) =>
      void navigate({ to: '.', search: (old: TasksSearch) => ({ ...old, ...change }), replace }),
    [navigate],
  );
  /** Another filter begins at its newest. */
  const narrowTo = useCallback((change: Partial<TasksSearch>) => go({ ...change, cursor: undefined }), [go]);
  const everything = () =>
    narrowTo({ status: undefined, worker_id: undefined, session_id: undefined, deployment_id: undefined });
  const open = search.task ?? null;
  const close = useCallback(() => {
    stepOut(page, go)({ task: undefined }, 'task', open ?? '');
  }, [go, open]);
  const handIn = useCallback(() => setHandingIn(true), []);

  useTaskActions({ page, open, close, handIn, onBack });

  const tasks = tasksSaying(rows.data?.tasks ?? [], search.q ?? '');
  const selection = useSelection(tasks.map(({ id }) => id));
  useTickKey('Work', 'Select or deselect the task');

  const known = rows.data?.tasks.find((task) => task.id === open);
  const details = open !== null && <TaskDetails key={open} id={open} known={known} onClose={close} />;
  return (
    <div ref={page} className="flex min-w-0 flex-1">
      <main className="flex min-h-0 min-w-0 flex-1 flex-col overflow-y-auto">
        {header(handIn)}
        <TaskFilters of={of?.kind ?? null} search={search} onChange={narrowTo} onLook={(change) => go(change, true)} />
        <ListStates
          source={rows}
          skeleton={<SkeletonRows count={12} />}
          isEmpty={(data) => data.tasks.length === 0}
          empty={
            filtered || search.cursor !== undefined ? (
              <div data-state="empty" className="flex flex-col items-start gap-2 p-3 text-muted">
                <p>{search.cursor === undefined ? 'No task matches this filter.' : 'No older tasks.'}</p>
                <Button onClick={everything}>{of === null ? 'Show all tasks' : 'Show all its tasks'}</Button>
              </div>
            ) : (
              empty(handIn)
            )
          }
        >
          {(data) => (
            <div className={rows.isPlaceholderData ? 'opacity-60' : ''}>
              {tasks.length === 0 ? (
                <p className="p-3 text-muted">No task on this page matches.</p>
              ) : (
                <TaskTable
                  // Another page or filter is another list: its rows hold no places of this one's.
                  key={JSON.stringify([filter, search.cursor, search.q])}
                  tasks={tasks}
                  passing={rows.isPlaceholderData}
                  selected={open}
                  of={of?.kind ?? null}
                  grouping={search.group ?? 'none'}
                  selection={selection}
                  onOpen={(task: Task) => go({ task: task.id }, open !== null)}
                />
              )}
              <Pages
                count={data.tasks.length}
                cursor={search.cursor}
                next={data.next_cursor}
                onCursor={(cursor) => {
                  go({ cursor });
                  if (cursor !== undefined) page.current?.querySelector('table')?.scrollIntoView({ block: 'nearest' });
                }}
              />
              <ManyTasks selection={selection} tasks={tasks.filter(({ id }) => selection.chosen.includes(id))} />
            </div>
          )}
        </ListStates>
      </main>
      {tight ? (
        <Sheet open={details !== false} onOpenChange={(is) => !is && close()} title="Task">
          {details}
        </Sheet>
      ) : (
        details !== false && (
          <aside aria-label="Inspector" className="flex w-[380px] shrink-0 flex-col border-l border-line">
            {details}
          </aside>
        )
      )}
      {handingIn && (
        <HandInDialog
          of={{
            session_id: of?.kind === 'sessions' ? of.id : undefined,
            deployment_id: of?.kind === 'deployments' ? of.id : undefined,
          }}
          onClose={() => setHandingIn(false)}
          onDone={(task) => {
            setHandingIn(false);
            go({ task, cursor: undefined });
          }}
        />
      )}
    </div>
  );
}

/** What the keyboard and the palette can do where tasks are listed. `open`: the task that is. */
function useTaskActions({
  page,
  open,
  close,
  handIn,
  onBack,
}: {
  page: RefObject<HTMLElement | null>;
  open: string | null;
  close: () => void;
  handIn: () => void;
  onBack: (() => void) | undefined;
}): void {
  const actions = useMemo<readonly Action[]>(() => {
    const press = (verb: string) => (): void =>
      page.current?.querySelector<HTMLElement>(`[data-verb="${verb}"]`)?.click();
    const back = (): void => {
      if (open !== null) close();
      else if (onBack !== undefined && document.activeElement?.closest('tr') != null) onBack();
      else focusIn(page, '[data-row]');
    };
    return [
      { id: 'hand-in', title: 'Add task', group: 'Work', keys: 'n', run: handIn },
      filterAction(page, 'Search this page of tasks'),
      backAction(page, back, 'Close the task, or back to the rows'),
      ...(open === null
        ? []
        : [
            { id: 'stop-task', title: 'Stop the open task', group: 'Work', run: press('stop') } as const,
            {
              id: 'retry-task',
              title: 'Retry the open task',
              group: 'Work',
              changes: 'at once',
              run: press('retry'),
            } as const,
          ]),
    ];
  }, [page, close, handIn, onBack, open]);
  useAddActions(actions);
}

function Pages({
  count,
  cursor,
  next,
  onCursor,
}: {
  /** Tasks on this page. */
  count: number;
  /** Of this page; undefined: the newest. */
  cursor: string | undefined;
  /** Cursor of the page of older tasks; null: there is none. */
  next: string | null;
  onCursor: (cursor: string | undefined) => void;
}) {
  return (
    <nav aria-label="Pages of tasks" className="flex items-center gap-2 p-3 text-meta text-muted">
      {cursor !== undefined && <Button onClick={() => onCursor(undefined)}>Newest</Button>}
      {next === null ? (
        <span>{cursor === undefined ? `${count} in total.` : 'End of the list.'}</span>
      ) : (
        <Button onClick={() => onCursor(next)}>Older</Button>
      )}
    </nav>
  );
}
