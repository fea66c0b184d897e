/**
 * Writes rows until the disk refuses, waits until it takes them again, writes a few more. `node disk-writer.ts <folder>`
 * Prints `ack <n>` once durable, `refused <fact>`, `recovered`, `done`. A line on stdin removes `<folder>/ballast`.
 */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';

const folder = process.argv[2] ?? '.';
const store = await openStore({
  file: join(folder, 'x.db'),
  migrations: [{ number: 1, name: 'rows', sql: 'CREATE TABLE entry (n INTEGER PRIMARY KEY, text TEXT) STRICT' }],
  clock: systemClock,
});
process.stdin.once('data', () => rmSync(join(folder, 'ballast'), { force: true }));
let next = (await store.read((tx) => tx.get<{ n: number }>('SELECT coalesce(max(n), 0) AS n FROM entry')))?.n ?? 0;

async function add(): Promise<string | null> {
  next += 1;
  try {
    await store.write((tx) => tx.run('INSERT INTO entry VALUES (?, ?)', next, 'x'.repeat(20_000)));
    console.log(`ack ${next}`);
    return null;
  } catch (error) {
    return (error as Error).message;
  }
}

let refused = await add();
while (refused === null) refused = await add();
console.log(`refused ${refused}`);
if (store.trouble() !== refused) throw new Error(`trouble() says ${store.trouble()}`);
if ((await add()) !== refused) throw new Error('A write was taken while the disk refuses.');
await store.read((tx) => tx.all('SELECT count(*) FROM entry'));
while (store.trouble() !== null) await delay(20);
console.log('recovered');
for (let more = 0; more < 20; more += 1) {
  const again = await add();
  if (again !== null) throw new Error(`Refused after recovery: ${again}`);
}
await store.close();
console.log('done');
// The open stdin would keep it alive.
process.exit(0);
