/**
 * Tasks of one attached server in the revision that its connection speaks: 2025-11-25, where the caller asks for a task and fetches its result, and
 * 2026-07-28, where the server decides and the result is inside. Must not know who waits for it.
 */
import { mcpMeta, tasksExtension } from '../../../contracts/tool-server/mcp.ts';
import { textOf } from './listing.ts';
import { isObject } from './schemas.ts';

type Json = Readonly<Record<string, unknown>>;
interface AskOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** How far a task is. `input`: what the server asks, unread. `ended`: with its result, or why it has none. */
export type SeenTask =
  | { readonly is: 'working'; readonly message: string | null; readonly pollMs: number | null }
  | {
      readonly is: 'input';
      readonly message: string | null;
      readonly pollMs: number | null;
      readonly requests: unknown;
    }
  | { readonly is: 'result'; readonly result: unknown }
  | { readonly is: 'failed'; readonly message: string };

export interface UpstreamTasks {
  /** All throw {@link UpstreamFault}. */
  get(taskId: string, options: AskOptions): Promise<SeenTask>;
  answer(taskId: string, inputResponses: Json, options: AskOptions): Promise<void>;
  cancel(taskId: string, options: AskOptions): Promise<void>;
}

/** Asked of a server of 2025-11-25: as long as a task of Gantry is kept by default. It may grant less. */
export const askedTtlMs = 8 * 24 * 60 * 60_000;
const maxMessageLength = 500;
/** It is kept in a row, and sent with each look. Characters. */
const maxIdLength = 1000;

/** In `_meta` of an answer that is no result, as the SDK reads only results. */
const takenTask = 'gantry/task';

/** Makes a result of an answer that made a task, which the SDK would refuse. Changes it in place, before the SDK reads it. */
export function readableTask(result: Record<string, unknown>): void {
  const modern = result.resultType === 'task';
  const made = modern ? result : result.content === undefined && isObject(result.task) ? result.task : null;
  if (made === null || typeof made.taskId !== 'string' || made.taskId.length > maxIdLength) return;
  const { taskId } = made;
  const _meta = { ...(isObject(result._meta) ? result._meta : {}), [takenTask]: taskId };
  for (const key of Object.keys(result)) delete result[key];
  Object.assign(result, { _meta, content: [], ...(modern ? { resultType: 'complete' } : {}) });
}

/** The id of the task that a result stands for; null: it is a result. */
export function takenTaskOf({ _meta }: Json): string | null {
  const taskId = isObject(_meta) ? _meta[takenTask] : undefined;
  return typeof taskId === 'string' ? taskId : null;
}

/** What the client of one call can, for a server of 2026-07-28. */
export function capabilitiesOf(may: { readonly task: boolean; readonly ask: boolean }): Json {
  return {
    ...(may.task ? { extensions: { [tasksExtension]: {} } } : {}),
    ...(may.ask ? { elicitation: { form: {}, url: {} } } : {}),
  };
}

export function createUpstreamTasks({
  modern,
  request,
}: {
  readonly modern: () => boolean;
  readonly request: (method: string, params: Record<string, unknown>, options: AskOptions) => Promise<Json>;
}): UpstreamTasks {
  const ask = (method: string, taskId: string, options: AskOptions, more: Json = {}) => {
    const _meta = { [mcpMeta.clientCapabilities]: capabilitiesOf({ task: true, ask: true }) };
    return request(method, { taskId, ...more, ...(modern() ? { _meta } : {}) }, options);
  };
  return {
    async get(taskId, options) {
      const sent = await ask('tasks/get', taskId, options);
      const message = textOf(sent.statusMessage, maxMessageLength);
      const poll = sent.pollIntervalMs ?? sent.pollInterval;
      const open = { message, pollMs: typeof poll === 'number' && poll > 0 ? poll : null };
      const said = message === null ? '' : `: ${message}`;
      switch (sent.status) {
        case 'completed':
          return { is: 'result', result: modern() ? sent.result : await ask('tasks/result', taskId, options) };
        case 'failed': {
          if (!modern()) return { is: 'result', result: await ask('tasks/result', taskId, options) };
          const why = isObject(sent.error) ? textOf(sent.error.message, maxMessageLength) : null;
          return { is: 'failed', message: why ?? `It failed${said}` };
        }
        case 'cancelled':
          return { is: 'failed', message: `It was cancelled there${said}` };
        case 'input_required':
          // In 2025-11-25 the server would ask over the stream of `tasks/result`, which nobody holds here.
          if (!modern()) return { is: 'working', ...open };
          return { is: 'input', requests: sent.inputRequests, ...open };
        default:
          return { is: 'working', ...open };
      }
    },
    async answer(taskId, inputResponses, options) {
      await ask('tasks/update', taskId, options, { inputResponses });
    },
    async cancel(taskId, options) {
      await ask('tasks/cancel', taskId, options);
    },
  };
}
