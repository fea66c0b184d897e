/** Attached servers that wait to be killed: `attached-runtime.ts <database> <transport as JSON>`; says when one is connected. */
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import {
  attachedServerMigrations,
  createAttachedServers,
} from '../../../src/runtime-server/tool-server/servers/index.ts';
import { createServerRecords } from '../../../src/runtime-server/tool-server/servers/records.ts';

const [file, transport] = process.argv.slice(2) as [string, string];
const store = await openStore({ file, migrations: attachedServerMigrations, clock: systemClock });
const deps = { store, sealer: createSealer({ masterKey: 'k'.repeat(44), purpose: 'attached-servers' }), ownerId: 'me' };
await createServerRecords(deps).add({
  id: 'server_1',
  name: 'notes',
  hidden: JSON.parse(transport),
  secrets: {},
  enabled: true,
  timeoutMs: 60_000,
  createdAt: 0,
  updatedAt: 0,
});
const attached = createAttachedServers({
  ...deps,
  clock: systemClock,
  timers: systemTimers,
  ids: createIds(systemClock),
  random: Math.random,
  log: { info: () => {}, warn: () => {}, error: () => {} },
  version: '0.0.0',
  auth: null,
  egressAllow: [],
});
await attached.start();
const look = setInterval(() => {
  if (attached.tools.list().length === 0) return;
  clearInterval(look);
  process.stdout.write('connected\n');
  setInterval(() => {}, 1000);
}, 20);
