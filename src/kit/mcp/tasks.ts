/**
 * Tasks of MCP as each revision that has them says them: 2025-11-25, where the client asks for a task with `params.task`, and 2026-07-28, where they are
 * the extension `io.modelcontextprotocol/tasks` and the server decides. Validates parameters and makes the wire forms; nothing is ever pushed. Must
 * not know what a task does or where it is kept.
 */
import { mcpMeta, modernVersion, rpcCodes, tasksExtension, tasksVersion } from '../../contracts/tool-server/mcp.ts';
import type { ToolResult } from '../../contracts/tool-server/tools.ts';
import { iso } from '../clock/clock.ts';
import { isObject } from './message.ts';
import { callResult } from './results.ts';
import type {
  Capabilities,
  JsonObject,
  McpRequest,
  RpcAnswer,
  Task,
  TaskProvider,
  TasksElsewhere,
  TaskWish,
} from './service.ts';

/** A result is held for this long before the client must ask again. Milliseconds. */
const maxHeldMs = 30_000;
const badRequest = 400;

type Method = (request: McpRequest) => Promise<RpcAnswer> | RpcAnswer;
const methodNames = ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/cancel', 'tasks/update'] as const;

/** Which revision's tasks this request may have; null: it takes none. */
function takesTasks({ version, can }: McpRequest): 'asked' | 'offered' | null {
  if (version === tasksVersion) return 'asked';
  if (version !== modernVersion) return null;
  return isObject(can.extensions) && isObject(can.extensions[tasksExtension]) ? 'offered' : null;
}

/** What a call wants with tasks; null: it is answered at once, as by a server without tasks. */
export function wishOf(request: McpRequest): TaskWish | null {
  const takes = takesTasks(request);
  if (takes === 'offered') return { always: false, ttlMs: null };
  const { task } = request.params;
  if (takes === null || !isObject(task)) return null;
  return { always: true, ttlMs: typeof task.ttl === 'number' && task.ttl > 0 ? task.ttl : null };
}

export function taskCapabilities(version: string): Capabilities {
  if (version === modernVersion) return { extensions: { [tasksExtension]: {} } };
  if (version !== tasksVersion) return {};
  return { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
}

/** The answer to a call that became a task. */
export function createdTask(task: Task, { version }: McpRequest): RpcAnswer {
  if (version !== modernVersion) return { result: { task: legacyForm(task) } };
  return { result: { resultType: 'task', ...modernForm(task) } };
}

export function taskMethods(tasks: TaskProvider | TasksElsewhere): [string, Method][] {
  if ('pass' in tasks) return methodNames.map((name) => [name, (request) => tasks.pass(request)]);
  return [
    ['tasks/get', only('both', (request) => found(tasks.get(idOf(request), request), request, detailed))],
    ['tasks/result', only('asked', (request) => resultOf(tasks, request))],
    ['tasks/list', only('asked', (request) => listed(tasks, request))],
    ['tasks/cancel', only('both', (request) => cancelled(tasks, request))],
    ['tasks/update', only('offered', (request) => updated(tasks, request))],
  ];
}

/** A method of one revision is unknown in the other, and one of the extension is refused where the client does not declare it. */
function only(revision: 'asked' | 'offered' | 'both', answer: Method): Method {
  return (request) => {
    const takes = takesTasks(request);
    const here = request.version === modernVersion ? 'offered' : takes;
    if (here === null || (revision !== 'both' && revision !== here)) {
      return { error: { code: rpcCodes.methodNotFound, message: `Method not found: ${request.method}`, status: 404 } };
    }
    if (takes === null) return needsTasks();
    const { taskId } = request.params;
    if (request.method !== 'tasks/list' && typeof taskId !== 'string') return invalid('taskId must be a string');
    return answer(request);
  };
}

/** For a method of the extension, or a tool that works only as a task, to a client that does not declare the extension. */
function needsTasks(): RpcAnswer {
  return {
    error: {
      code: rpcCodes.missingCapability,
      message: `Missing required client capability: ${tasksExtension}.`,
      data: { requiredCapabilities: { extensions: { [tasksExtension]: {} } } },
      status: badRequest,
    },
  };
}

const idOf = ({ params }: McpRequest) => params.taskId as string;

async function found(
  task: Task | null | Promise<Task | null>,
  request: McpRequest,
  answer: (task: Task, request: McpRequest) => RpcAnswer,
): Promise<RpcAnswer> {
  const known = await task;
  return known === null ? unknownTask(request) : answer(known, request);
}

/** The same for a made-up id as for a task of somebody else. */
function unknownTask(request: McpRequest): RpcAnswer {
  const id = idOf(request);
  return {
    error: { code: rpcCodes.invalidParams, message: `Unknown task: ${id.length > 200 ? `${id.slice(0, 200)}…` : id}` },
  };
}

function detailed(task: Task, request: McpRequest): RpcAnswer {
  if (request.version !== modernVersion) return { result: legacyForm(task) };
  const { result, error } = task;
  const asks = task.status === 'working' ? inputOf(task, request) : null;
  return {
    result: {
      ...modernForm(task),
      ...(asks === null ? {} : { status: 'input_required', inputRequests: asks }),
      ...(task.status === 'completed' && result !== null
        ? { result: { resultType: 'complete', ...callResult(result, request.era, request.version) } }
        : {}),
      ...(task.status === 'failed' && error !== null ? { error } : {}),
    },
  };
}

/** What the client must do for the task, as far as it can do it. */
function inputOf({ input }: Task, { can }: McpRequest): JsonObject | null {
  const able = Object.entries(input).filter(([, { method, params }]) => {
    const capability = isObject(can.elicitation) ? can.elicitation : null;
    if (method !== 'elicitation/create' || capability === null) return false;
    return params.mode === 'url' ? isObject(capability.url) : true;
  });
  return able.length === 0 ? null : Object.fromEntries(able);
}

async function resultOf(tasks: TaskProvider, request: McpRequest): Promise<RpcAnswer> {
  return found(tasks.wait(idOf(request), request, maxHeldMs), request, (task) => {
    const _meta = { [mcpMeta.relatedTask]: { taskId: task.id } };
    if (task.result !== null) return { result: { ...callResult(task.result, request.era, request.version), _meta } };
    if (task.error !== null) return { error: task.error };
    if (task.status === 'working') {
      const seconds = maxHeldMs / 1000;
      const message = `The task has no result after ${seconds} seconds. Ask again; tasks/get says how far it is.`;
      return { error: { code: rpcCodes.internal, message, data: { code: 'timeout', retryable: true, _meta } } };
    }
    return { error: { code: rpcCodes.internal, message: task.message ?? 'The task was cancelled.', data: { _meta } } };
  });
}

async function listed(tasks: TaskProvider, request: McpRequest): Promise<RpcAnswer> {
  const { cursor } = request.params;
  if (cursor !== undefined && cursor !== null) return invalid('cursor is not one that was given here');
  return { result: { tasks: (await tasks.list(request)).map(legacyForm) } };
}

async function cancelled(tasks: TaskProvider, request: McpRequest): Promise<RpcAnswer> {
  const modern = request.version === modernVersion;
  const before = await tasks.get(idOf(request), request);
  // 2025-11-25 refuses to cancel what has ended; 2026-07-28 acknowledges it.
  if (!modern && before !== null && before.status !== 'working') {
    return invalid(`the task is already ${before.status}`);
  }
  return found(tasks.cancel(idOf(request), request), request, (task) =>
    modern ? { result: {} } : { result: legacyForm(task) },
  );
}

async function updated(tasks: TaskProvider, request: McpRequest): Promise<RpcAnswer> {
  const { inputResponses } = request.params;
  if (!isObject(inputResponses)) return invalid('inputResponses must be an object');
  return found(tasks.update(idOf(request), inputResponses, request), request, () => ({ result: {} }));
}

/** 2025-11-25 calls a tool's own error a failure; 2026-07-28 keeps that word for errors of the protocol. */
function legacyForm(task: Task): JsonObject {
  const failed = task.status === 'completed' && isError(task.result);
  return {
    taskId: task.id,
    status: failed ? 'failed' : task.status,
    ...(task.message === null ? {} : { statusMessage: task.message }),
    createdAt: iso(task.createdAt),
    lastUpdatedAt: iso(task.updatedAt),
    ttl: task.ttlMs,
    pollInterval: task.pollMs,
  };
}

function modernForm(task: Task): JsonObject {
  return {
    taskId: task.id,
    status: task.status,
    ...(task.message === null ? {} : { statusMessage: task.message }),
    createdAt: iso(task.createdAt),
    lastUpdatedAt: iso(task.updatedAt),
    ttlMs: task.ttlMs,
    pollIntervalMs: task.pollMs,
  };
}

const isError = (result: ToolResult | null) => result?.isError === true;

function invalid(what: string): RpcAnswer {
  return { error: { code: rpcCodes.invalidParams, message: `Invalid params: ${what}.` } };
}
