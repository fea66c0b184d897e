/** Ten more tasks, by another author, written without a look at the executor. */
import { fieldTasks } from './second-fields.ts';
import { pointerTasks } from './second-pointer.ts';
import type { Task } from './task.ts';

export const secondTasks: readonly Task[] = [...fieldTasks, ...pointerTasks];
