/**
 * A process that turns events into pushes as a cloud does, among others on the same database:
 * `node sink.ts <cloud.db> <host:port of the push service>`. Prints `ready`, begins at the first line of its input.
 */
import { approvalMigrations } from '../../../src/cloud-api/approvals/index.ts';
import { createEvents, eventMigrations } from '../../../src/cloud-api/events/index.ts';
import { notificationMigrations } from '../../../src/cloud-api/notifications/index.ts';
import { composeNotifications } from '../../../src/host/notifications.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createEgressMeter } from '../../../src/kit/egress/egress-metrics.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLaneMetrics } from '../../../src/kit/lane/lane-metrics.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { answered } from '../../../src/kit/store/answered.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';

/** The key that sealed the push keys of the database. */
export const sinkMasterKey = 'master-key-of-sinks-0123456789abcdef';
export const sinkMigrations = [...laneMigrations, ...approvalMigrations, ...eventMigrations, ...notificationMigrations];

if (process.argv[1] === import.meta.filename) await main();

async function main(): Promise<void> {
  const [file = '', service = ''] = process.argv.slice(2);
  const clock = systemClock;
  const store = await openSharedStore({ databaseUrl: null, file, migrations: sinkMigrations, clock });
  const ids = createIds(clock);
  const say = (message: string, facts?: unknown) => console.error(message, facts);
  const notifications = await composeNotifications({
    store,
    clock,
    ids,
    log: { warn: say, error: say },
    masterKey: sinkMasterKey,
    push: { vapid: null, subject: null, allow: [service] },
    origin: 'https://gantry.example',
    timers: systemTimers,
    outboxes: createLaneMetrics(clock),
    telemetry: undefined,
    egress: createEgressMeter(['pushes']),
    events: createEvents({ store, clock, ids }).backbone,
    approvals: {
      open: () => answered('unknown' as const),
      resolve: () => Promise.reject(new Error('Nobody asks for approval here.')),
    },
    computers: async () => [],
  });
  process.stdout.write('ready\n');
  // Its timers keep no program alive; its input does.
  process.stdin.once('data', () => void notifications.start());
}
