/**
 * The profile's tools that run as tasks (SEP-2663), over the tasks of `kit/mcp`: kept in memory, they end by a timer or by the client's answers. Must
 * not know the wire.
 */
import { tasksExtension } from '../../../src/contracts/tool-server/mcp.ts';
import type { ToolResult } from '../../../src/contracts/tool-server/tools.ts';
import type { JsonObject, ListedTool, McpRequest, Task, TaskProvider } from '../../../src/kit/mcp/service.ts';

const text = (said: string): ToolResult => ({ content: [{ type: 'text', text: said }], isError: false });
const confirm = (message: string) => ({
  method: 'elicitation/create',
  params: {
    message,
    requestedSchema: { type: 'object', properties: { confirm: { type: 'boolean' } }, required: ['confirm'] },
  },
});

interface Script {
  readonly inputSchema?: JsonObject;
  readonly afterMs?: (args: JsonObject) => number;
  readonly input?: Task['input'];
  readonly end: (args: JsonObject) => Pick<Task, 'status'> & Partial<Task>;
}
const completed = (result: ToolResult) => ({ status: 'completed', result }) as const;

const scripts: Readonly<Record<string, Script>> = {
  slow_compute: {
    inputSchema: { type: 'object', properties: { seconds: { type: 'number' }, label: { type: 'string' } } },
    afterMs: ({ seconds }) => Number(seconds ?? 0) * 1000,
    end: ({ label }) => completed(text(`Computed ${String(label)}.`)),
  },
  failing_job: { afterMs: () => 500, end: () => completed({ ...text('The job failed.'), isError: true }) },
  protocol_error_job: {
    afterMs: () => 100,
    end: () => ({ status: 'failed', error: { code: -32603, message: 'Something broke.' } }),
  },
  confirm_delete: {
    inputSchema: { type: 'object', properties: { filename: { type: 'string' } } },
    input: { confirm: confirm('Delete it?') },
    end: ({ filename }) => completed(text(`Deleted ${String(filename)}.`)),
  },
  multi_input: {
    input: { first: confirm('The first?'), second: confirm('The second?') },
    end: () => completed(text('Both came.')),
  },
  // Asks for a name before it becomes a task: see `input-required.ts`.
  test_tool_with_task: { afterMs: () => 100, end: ({ name }) => completed(text(`Hello, ${String(name)}.`)) },
};

/** Works only as a task. */
export const onlyAsTask: ReadonlySet<string> = new Set(['failing_job', 'test_tool_with_task']);

export const taskTools: readonly ListedTool[] = Object.entries(scripts).map(([name, { inputSchema }]) => ({
  name,
  description: 'Runs as a task.',
  inputSchema: inputSchema ?? { type: 'object', additionalProperties: false },
  execution: { taskSupport: 'optional' },
}));

export function createProfileTasks() {
  const tasks = new Map<string, { task: Task; finish: () => void }>();
  let count = 0;
  const change = (id: string, more: Partial<Task>) => {
    const known = tasks.get(id);
    if (known?.task.status === 'working') known.task = { ...known.task, updatedAt: Date.now(), ...more };
  };

  function create(name: string, args: JsonObject): Task {
    count += 1;
    const id = `task_${count}`;
    const { afterMs, input = {}, end } = scripts[name] as Script;
    const now = Date.now();
    const task: Task = {
      id,
      status: 'working',
      message: null,
      createdAt: now,
      updatedAt: now,
      ttlMs: 3_600_000,
      pollMs: 100,
      result: null,
      error: null,
      input,
    };
    const finish = () => change(id, { ...end(args), input: {} });
    tasks.set(id, { task, finish });
    if (afterMs !== undefined) setTimeout(finish, afterMs(args)).unref();
    return task;
  }

  const get = (id: string) => tasks.get(id)?.task ?? null;
  const provider: TaskProvider = {
    get,
    async wait(id, _request, maxMs) {
      for (let left = maxMs; left > 0 && get(id)?.status === 'working'; left -= 50) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      return get(id);
    },
    list: () => [...tasks.values()].map(({ task }) => task).reverse(),
    cancel(id) {
      change(id, { status: 'cancelled', input: {} });
      return get(id);
    },
    update(id, answers) {
      const task = get(id);
      if (task === null) return null;
      const open = Object.entries(task.input).filter(([key]) => answers[key] === undefined);
      change(id, { input: Object.fromEntries(open) });
      if (open.length === 0 && Object.keys(task.input).length > 0) tasks.get(id)?.finish();
      return get(id);
    },
  };
  return {
    provider,
    /** What a client without tasks gets. */
    atOnce: (name: string, args: JsonObject) => scripts[name]?.end(args).result ?? text('Nothing.'),
    create,
    has: (name: string) => scripts[name] !== undefined,
  };
}

/** Whether this request's client declares the extension. */
export const declaresTasks = ({ can }: McpRequest) =>
  (can.extensions as JsonObject | undefined)?.[tasksExtension] !== undefined;
