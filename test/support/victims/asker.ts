/**
 * A computer that asks for approvals and acts on them until it is killed: `node asker.ts <folder>`. Each question has a key and is
 * asked again after a restart until its effect is there. Prints `ready`, `asked <id> <key>`, `said <id> <applied|gone>`; reads
 * `answer <id> <at>` as the cloud's lane would bring it.
 */
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { capabilities } from '../../../src/contracts/link/knows.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLanes } from '../../../src/kit/lane/create-lanes.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { ledgerMigrations } from '../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import { createHeldApprovals, holdMigrations } from '../../../src/runtime-server/approvals/index.ts';

const [folder = '.'] = process.argv.slice(2);
const clock = systemClock;
const ids = createIds(clock);
const store = await openStore({
  file: join(folder, 'runtime.db'),
  migrations: [
    ...ledgerMigrations,
    ...laneMigrations,
    ...holdMigrations,
    {
      area: 'test',
      number: 1,
      name: 'effects',
      // No key is unique here: an effect that comes twice must show.
      sql: 'CREATE TABLE wanted (key TEXT PRIMARY KEY) STRICT; CREATE TABLE effect (key TEXT) STRICT;',
    },
  ],
  clock,
});
const { approvals } = createHeldApprovals({
  knows: () => Promise.resolve(new Set(capabilities)),
  cloudAheadMs: () => 0,
  store,
  ledger: await createLedger({ store, clock, ids }),
  clock,
  timers: systemTimers,
  ids,
  ownerId: 'user_1',
  log: { warn: (text) => process.stderr.write(`${text}\n`) },
  openLanes: (send) => createLanes({ store, clock, name: 'cloud', send }),
  call: async () => ({ status: 200, body: {} }),
});
await approvals.start();
const say = (line: string) => process.stdout.write(`${line}\n`);

async function ask(key: string): Promise<void> {
  const asked = await approvals.ask(
    {
      source: 'workflow',
      kind: 'wait_gate',
      title: key,
      summary: key,
      risk: 'low',
      agentId: null,
      actionHash: key,
      expiresInMs: 600_000,
      dedupeKey: key,
    },
    { apply: (tx) => void tx.run('INSERT INTO effect VALUES (?)', key) },
  );
  say(`asked ${asked.id} ${key}`);
  await asked.answer;
}

const open = await store.read((tx) =>
  tx.all<{ key: string }>('SELECT key FROM wanted WHERE key NOT IN (SELECT key FROM effect)'),
);
for (const { key } of open) void ask(key);
say('ready');

createInterface({ input: process.stdin }).on('line', (line) => {
  const [verb, id = '', at = ''] = line.split(' ');
  if (verb !== 'answer') return;
  const resolvedBy = { user: 'user_1', surface: 'browser' };
  approvals.answer({ id, decision: 'approve', note: null, resolvedBy, at }).then(
    (said) => say(`said ${id} ${said}`),
    (fault: unknown) => process.stderr.write(`${String(fault)}\n`),
  );
});

/** One question after the other, faster than they are answered. */
for (let n = 0; ; n += 1) {
  const key = `${process.pid}-${n}`;
  await store.write((tx) => tx.run('INSERT INTO wanted VALUES (?)', key));
  void ask(key);
  await new Promise((resolve) => setTimeout(resolve, 15));
}
