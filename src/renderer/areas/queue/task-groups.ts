/** Which tasks of a page have the words that are searched for, and in which groups they stand. Pure. */
import type { Task } from '../../../contracts/work-queue/task.ts';
import { type Group, groupRows, saysAll } from '../../base/found-rows.ts';
import type { TasksSearch } from './search.ts';
import { statusWords, taskName } from './task-words.ts';

export type TaskGrouping = NonNullable<TasksSearch['group']> | 'none';
export const taskGroupings: Readonly<Record<TaskGrouping, string>> = {
  none: 'No groups',
  status: 'By status',
  worker: 'By worker',
  session: 'By session',
  deployment: 'By deployment',
};

/** By what a row says. What it carries in its environment is not searched: it may be secret. */
export const tasksSaying = (tasks: readonly Task[], text: string): readonly Task[] =>
  tasks.filter((task) =>
    saysAll([taskName(task), task.id, task.last_worker_id, task.error?.code, task.error?.message], text),
  );

type Names = Readonly<Record<string, string>>;

export function groupTasks(
  tasks: readonly Task[],
  grouping: TaskGrouping,
  names: { readonly sessions: Names; readonly deployments: Names },
): readonly Group<Task>[] {
  const named = (id: string | null, of: Names, none: string): string => (id === null ? none : of[id] || id);
  const nameOf: Readonly<Record<TaskGrouping, ((task: Task) => string) | null>> = {
    none: null,
    status: ({ status }) => statusWords[status],
    worker: ({ last_worker_id }) => last_worker_id ?? 'No worker yet',
    session: ({ session_id }) => named(session_id, names.sessions, 'No session'),
    deployment: ({ deployment_id }) => named(deployment_id, names.deployments, 'No deployment'),
  };
  return groupRows(tasks, nameOf[grouping]);
}
