/** Ten more tasks, of another hand. */
import type { Task } from './task.ts';

export const secondTasks: readonly Task[] = [];
