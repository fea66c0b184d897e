/** Search parameters of the work queue's pages. */
import { z } from 'zod';
import { historyRanges, TaskStatus } from '../../../contracts/work-queue/task.ts';
import { searchCursor, searchText } from '../../base/search-text.ts';

/** The open task, and the page and filters of the list of tasks; the names are those of the API. */
export const tasksSearch = z.object({
  status: TaskStatus.optional().catch(undefined),
  session_id: searchText,
  deployment_id: searchText,
  worker_id: searchText,
  cursor: searchCursor,
  task: searchText,
});
export type TasksSearch = z.infer<typeof tasksSearch>;

/** How far back the history looks. */
export const historySearch = z.object({ range: z.enum(historyRanges).optional().catch(undefined) });
