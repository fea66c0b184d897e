/**
 * A process that answers approvals in a cloud's database as its service does, among others that answer the same ones:
 * `node approver.ts <cloud.db> <surface>`. Prints `ready`, waits for one line of JSON ids, answers them, prints what came.
 */
import { createInterface } from 'node:readline';
import { approvalMigrations, createApprovals } from '../../../src/cloud-api/approvals/index.ts';
import { createEvents, eventMigrations } from '../../../src/cloud-api/events/index.ts';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createSharedLanes } from '../../../src/kit/lane/shared-lanes.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';

/** The answers that one process got about one approval. */
export interface Told {
  readonly id: string;
  readonly won: boolean;
  /** The surface that the answer or the refusal names. */
  readonly by: string | null;
}

const together = 5;
const [file = '', surface = ''] = process.argv.slice(2);
const clock = systemClock;
const store = await openSharedStore({
  databaseUrl: null,
  file,
  migrations: [...laneMigrations, ...approvalMigrations, ...eventMigrations],
  clock,
});
const { service } = createApprovals({
  store,
  clock,
  timers: systemTimers,
  log: { warn: () => {} },
  // Never started: answers only gather.
  openLanes: (send) => createSharedLanes({ store, clock, name: 'answers', send }),
  call: async () => ({ status: 503, body: null }),
  events: createEvents({ store, clock, ids: createIds(clock) }).backbone,
});
process.stdout.write('ready\n');
for await (const line of createInterface({ input: process.stdin })) {
  const ids = JSON.parse(line) as string[];
  const told: Told[] = [];
  // A few at a time, as people come: each few are a commit of their own between those of the other processes.
  for (let at = 0; at < ids.length; at += together) {
    told.push(...(await Promise.all(ids.slice(at, at + together).map((id, index) => answer(id, at + index)))));
  }
  process.stdout.write(`${JSON.stringify(told)}\n`);
  break;
}
await store.close();
process.stdin.destroy();

async function answer(id: string, index: number): Promise<Told> {
  try {
    const decision = index % 2 === 0 ? 'approve' : 'reject';
    const approval = await service.resolve(id, { decision, note: null, userId: 'user_1', surface });
    return { id, won: true, by: approval.resolvedBy?.surface ?? null };
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 409) throw error;
    return { id, won: false, by: / via (\S+) at /.exec(error.fact)?.[1] ?? null };
  }
}
