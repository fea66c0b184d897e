/** Search parameters of the work queue's pages. */
import { z } from 'zod';
import { historyRanges, TaskStatus } from '../../../contracts/work-queue/task.ts';
import { searchCursor, searchText } from '../../base/search-text.ts';

/** The open task, the page and filters of the list of tasks, named as in the API, and how the page is shown. */
export const tasksSearch = z.object({
  status: TaskStatus.optional().catch(undefined),
  session_id: searchText,
  deployment_id: searchText,
  worker_id: searchText,
  cursor: searchCursor,
  task: searchText,
  /** Words that are searched for among the tasks of the page, and its groups. */
  q: searchText,
  group: z.enum(['status', 'worker', 'session', 'deployment']).optional().catch(undefined),
});
export type TasksSearch = z.infer<typeof tasksSearch>;

/** How far back the history looks. */
export const historySearch = z.object({ range: z.enum(historyRanges).optional().catch(undefined) });
