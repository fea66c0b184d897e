/** Tasks of the queue, a worker that runs them, and what their commands wrote down where no queue comes to. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { CallError, type Caller, createCaller } from '../../support/bench/http.ts';
import { gantryCommand } from '../../support/bench/product.ts';
import { createRestarts, type Restarts } from '../../support/restarts.ts';
import type { Task } from '../system.ts';

interface TaskWire {
  readonly id: string;
  readonly status: string;
  readonly result: { readonly stdout?: string } | null;
}

export interface Queue {
  readonly worker: Restarts;
  readonly created: readonly string[];
  /** One more task. Asked again with its key until that was answered. */
  create(): Promise<void>;
  tasks(): Promise<Task[]>;
  close(): Promise<void>;
}

const ended = ['succeeded', 'failed', 'cancelled'];
export const isEnded = ({ status }: Task) => ended.includes(status);

const mark = (kind: string) => `echo "${kind} $GANTRY_TASK_ID $GANTRY_TASK_FENCE" >> "$MARKS"`;
const command = `sleep 0.3; ${mark('E')}; echo "$GANTRY_TASK_FENCE"`;

/** `secret`: a key with the scope `work`. */
export function createQueue({
  origin,
  secret,
  folder,
  env,
  via,
}: {
  readonly origin: string;
  readonly secret: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly via?: number | undefined;
}): Queue {
  const keyFile = join(folder, 'key');
  const marks = join(folder, 'marks');
  writeFileSync(keyFile, secret, { mode: 0o600 });
  const spool = join(folder, 'worker-spool');
  const flags = ['--url', origin, '--key-file', keyFile, '--concurrency', '2', '--no-sandbox', '--spool', spool];
  const worker = createRestarts({
    name: 'worker',
    command: [...gantryCommand, 'worker', ...flags, '--name', 'worker'],
    env: { ...env, TMPDIR: folder },
  });
  const caller: Caller = createCaller(origin, secret, via);
  const created: string[] = [];
  let made = 0;
  let pending: string | null = null;
  return {
    worker,
    created,
    async create() {
      if (pending === null) {
        made += 1;
        pending = `task-${made}`;
      }
      const body = { payload: { key: pending, command }, env: { MARKS: marks }, max_attempts: 100 };
      try {
        const { id } = await caller.call<{ id: string }>('POST', '/beta/work', body, { 'idempotency-key': pending });
        created.push(id);
        pending = null;
      } catch (error) {
        // Cut off in its first call: nobody knows whether it is there, and the key is used up.
        if (!(error instanceof CallError && error.message.includes('idempotency_conflict'))) throw error;
        pending = null;
      }
    },
    async tasks() {
      const ran = new Map<string, number[]>();
      for (const line of existsSync(marks) ? readFileSync(marks, 'utf8').split('\n') : []) {
        const [kind, id = '', fence] = line.split(' ');
        if (kind === 'E') ran.set(id, [...(ran.get(id) ?? []), Number(fence)]);
      }
      return Promise.all(
        created.map(async (id) => {
          const { task } = await caller.call<{ task: TaskWire }>('GET', `/beta/work/${id}`);
          const stdout = task.result?.stdout;
          return {
            id,
            status: task.status,
            resultOf: stdout === undefined ? null : Number(stdout),
            ran: ran.get(id) ?? [],
          };
        }),
      );
    },
    async close() {
      await worker.stop('SIGKILL');
      caller.close();
    },
  };
}
