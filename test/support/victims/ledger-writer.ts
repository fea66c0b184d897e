/**
 * Writes rows to a ledger and a lane until it is killed; a sender appends each to a file. `node ledger-writer.ts <folder> <mode>`
 * Prints `ready`, then `ack <key>` for each row: in mode `honest` once it is durable, in mode `hasty` before it is written
 * (the loss a kill loop must find).
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLanes } from '../../../src/kit/lane/create-lanes.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import { ledgerMigrations } from '../../../src/kit/ledger/migrations.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';

const [folder = '.', mode = 'honest'] = process.argv.slice(2);
const clock = systemClock;
const ids = createIds(clock);
const store = await openStore({
  file: join(folder, 'x.db'),
  migrations: [...ledgerMigrations, ...laneMigrations],
  clock,
});
const ledger = await createLedger({ store, clock, ids });
const lanes = createLanes({
  store,
  clock,
  name: 'out',
  send: async (item) => {
    appendFileSync(join(folder, 'sent'), `${item.lane} ${item.id} ${item.interrupted ? 'again' : 'first'}\n`);
    return { to: 'done', commit: (tx) => ledger.append(tx, row('sent', item.id)) };
  },
});

function row(type: string, key: string) {
  return { type, actor: 'engine', surface: 'engine', subject: `row:${key}`, body: { v: 1 }, idemKey: `${type}:${key}` };
}

async function writeRow(lane: string): Promise<void> {
  const key = ids.next('row');
  if (mode === 'hasty') {
    console.log(`ack ${key}`);
    await delay(2);
  }
  await store.write((tx) => {
    ledger.append(tx, row('added', key));
    lanes.append(tx, { lane, id: key, body: null });
  });
  if (mode === 'honest') console.log(`ack ${key}`);
}

let stopping = false;
process.stdin.once('data', () => {
  stopping = true;
});
await lanes.start();
console.log('ready');
while (!stopping) await Promise.all(['a', 'b', 'a', 'c'].map(writeRow));
while (lanes.depths().size > 0) await delay(5);
await lanes.close();
await store.close();
console.log('drained');
process.exit(0);
