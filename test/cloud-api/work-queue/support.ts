/** A work queue behind a real server, on either engine, with a clock that stands still and two people. */
import { onTestFinished } from 'vitest';
import { createWorkQueue, workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import type { Scope } from '../../../src/contracts/common/route.ts';
import type { Lease, Task } from '../../../src/contracts/work-queue/task.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import type { ImageRule } from '../../../src/kit/docker/image-rule.ts';
import { createIdempotency, idempotencyMigrations } from '../../../src/kit/http/idempotency.ts';
import { bearerOf } from '../../../src/kit/http/principals.ts';
import type { Authenticator } from '../../../src/kit/http/types.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import { type CallOptions, serve } from '../../kit/http/support.ts';
import type { Engine } from '../../support/engines.ts';
import { createTestClock } from '../../support/test-clock.ts';

/** A token is a person's name, and after a slash the scopes of a key. */
const people: Authenticator = {
  name: 'people',
  authenticate(request) {
    const [name, scopes] = (bearerOf(request) ?? '').split('/');
    if (name === undefined || name === '') return null;
    const userId = `user_${name}`;
    if (scopes === undefined) return { kind: 'user', userId, scopes: new Set<Scope>(['work']), via: 'cookie' };
    return { kind: 'key', userId, scopes: new Set(scopes.split('~') as Scope[]), via: 'key', keyId: 'key_1' };
  },
};

export interface Answered {
  readonly status: number;
  readonly error?: string;
  readonly message?: string;
  readonly id: string;
  readonly task: Task;
  readonly lease: Lease;
  readonly tasks: Task[];
  readonly next_cursor: string | null;
  readonly stop_requested?: boolean;
  readonly [more: string]: unknown;
}

export interface QueueOptions {
  readonly images?: readonly ImageRule[];
  readonly leaseMs?: number;
  /** Leases end by the real clock: for workers, whose own time nobody moves. */
  readonly real?: boolean;
}

export async function startQueue(engine: Engine, { leaseMs, images, real = false }: QueueOptions = {}) {
  const clock = createTestClock();
  const place = await engine.place();
  const store: SharedStore = await place.open([...idempotencyMigrations, ...workQueueMigrations], clock);
  await warmUp(store);
  const ids = createIds(clock);
  const faults: string[] = [];
  const work = createWorkQueue({
    store,
    clock: { now: () => (real ? systemClock : clock).now(), compare: async () => {} },
    timers: real ? systemTimers : clock,
    ids,
    leaseMs,
    images,
    log: { error: (message, fields) => void faults.push(`${message} ${JSON.stringify(fields)}`) },
  });
  await work.start();
  onTestFinished(() => work.close());
  const server = await serve({
    routes: work.routes,
    owners: work.owners,
    authenticators: [people],
    ids,
    idempotency: createIdempotency(store, clock),
  });
  const send = async (method: string, path: string, options: CallOptions = {}): Promise<Answered> => {
    const reply = await server.call(method, `/beta/work${path}`, { token: 'ada', ...options });
    return { ...(reply.json as unknown as Answered), status: reply.status };
  };
  const post = (path: string, body?: unknown, options: CallOptions = {}) => send('POST', path, { body, ...options });
  const lease = (worker = 'w1', more = '', options: CallOptions = {}) =>
    send('GET', `/queue?worker_id=${worker}${more}`, options);
  const create = async (body: Record<string, unknown> = {}, options: CallOptions = {}) => {
    const answer = await post('', body, options);
    if (answer.status !== 201) throw new Error(JSON.stringify(answer));
    clock.jump(1);
    return answer.task;
  };
  // What the queue does by itself, however idle it is.
  const idle = real ? 0 : clock.pending();
  return {
    clock,
    store,
    work,
    faults,
    server,
    send,
    post,
    lease,
    create,
    /** How many timers run because somebody waits. */
    waiting: () => clock.pending() - idle,
    /** Time passes, and nobody is woken by it. */
    later: (ms: number) => clock.jump(ms),
    task: async (id: string) => (await send('GET', `/${id}`)).task,
  };
}

/** On a computer that is busy with other tests a first connection may be refused for its slowness: that is not the question here. */
async function warmUp(store: SharedStore): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const asked = Array.from({ length: 8 }, () => store.get('SELECT 1 AS one'));
    const answers = await Promise.allSettled(asked);
    if (answers.every(({ status }) => status === 'fulfilled')) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

export type TestQueue = Awaited<ReturnType<typeof startQueue>>;
