/**
 * A process that sends events to apps as a cloud does, among others on the same database: `node edge.ts <PostgreSQL URL>`. Prints
 * `ready` and sends until it is ended.
 */
import { createEdgeEvents, edgeEventMigrations } from '../../../src/cloud-api/edge/events.ts';
import { createEvents, eventMigrations } from '../../../src/cloud-api/events/index.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createEgress } from '../../../src/kit/egress/egress.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { openSharedStore } from '../../../src/kit/store/open-shared-store.ts';

const migrations = [...laneMigrations, ...eventMigrations, ...edgeEventMigrations];

if (process.argv[1] === import.meta.filename) {
  const { edge } = await openEdge(process.argv[2] ?? '');
  await edge.start();
  process.stdout.write('ready\n');
  // Its timers keep no program alive; its input does.
  process.stdin.resume();
}

/** The events half of the edge on this database, not started. */
export async function openEdge(databaseUrl: string) {
  const clock = systemClock;
  const store = await openSharedStore({ databaseUrl, file: '', migrations, clock });
  const ids = createIds(clock);
  const { backbone } = createEvents({ store, clock, ids });
  const egress = createEgress({ allow: ['127.0.0.0/8'] });
  const edge = createEdgeEvents({
    store,
    clock,
    timers: systemTimers,
    ids,
    egress,
    events: backbone,
    log: { warn: (message, facts) => console.error(message, facts) },
    sealer: createSealer({ masterKey: 'master-key-of-edges-0123456789abcdef', purpose: 'edge' }),
    mayStill: () => true,
  });
  return {
    store,
    edge,
    backbone,
    async close() {
      await edge.close();
      await egress.close();
      await store.close();
    },
  };
}
