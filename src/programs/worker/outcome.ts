/** Turns a task's result, whatever it returned or threw, into an outcome that the queue accepts. Must not know the queue. */
import { inspect } from 'node:util';
import { maxCodeLength, maxMessageLength, type TaskError } from '../../contracts/work-queue/task.ts';

/** Thrown by the work: the task failed, for a reason that a program can read. */
export class TaskFailure extends Error {
  readonly error: TaskError;
  constructor(error: TaskError) {
    super(error.message);
    this.name = 'TaskFailure';
    this.error = error;
  }
}

/** As the queue will read it. What is no JSON would otherwise be found out by nothing but the call that ends the task. */
export function outcomeOf(result: unknown): { result: unknown } | { error: TaskError } {
  try {
    const text = JSON.stringify(result ?? null) as string | undefined;
    return text === undefined ? { error: badResult(`A ${typeof result} is not JSON.`) } : { result: JSON.parse(text) };
  } catch (error) {
    return { error: badResult(error instanceof Error ? error.message : inspect(error)) };
  }
}

export function badResult(message: string): TaskError {
  return fitting({ code: 'bad_result', message });
}

export function taskErrorOf(error: unknown): TaskError {
  if (error instanceof TaskFailure) return fitting(error.error);
  return fitting({ code: 'worker_error', message: error instanceof Error ? error.message : inspect(error) });
}

/** One that the queue did not take would leave the task to be run again and again, and fail each time in the same way. */
function fitting({ code, message }: TaskError): TaskError {
  const word = code
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '_')
    .replace(/^[^a-z]+/, '')
    .slice(0, maxCodeLength);
  return {
    code: word === '' ? 'worker_error' : word,
    message: message.slice(0, maxMessageLength).replace(/[\uD800-\uDBFF]$/, ''),
  };
}
