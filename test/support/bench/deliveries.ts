/** Many deliveries in a store that nothing else has open: copies of one that was really made, with the rows of the ledger that belong to it. */
import { runtimeMigrations } from '../../../src/host/runtime-migrations.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../src/kit/ledger/create-ledger.ts';
import type { Ledger } from '../../../src/kit/ledger/ledger.ts';
import { openStore } from '../../../src/kit/store/open-store.ts';
import type { Store, Value } from '../../../src/kit/store/store.ts';

const portion = 200;

/** Goes on as long as `more` says so; `bots`, in turn, are those who got them, else the bot of the one that is copied. */
export async function fillDeliveries(
  file: string,
  more: (ledger: Ledger, copied: number) => boolean | Promise<boolean>,
  bots: readonly { readonly id: string; readonly address: string }[] = [],
): Promise<void> {
  const clock = systemClock;
  const ids = createIds(clock);
  const store = await openStore({ file, migrations: runtimeMigrations, clock });
  const ledger = await createLedger({ store, clock, ids });
  const [delivery] = await store.read((tx) => tx.all<Record<string, Value>>('SELECT * FROM factory_delivery LIMIT 1'));
  const events = (await ledger.read('0', 1000)).filter((row) => row.subject === `delivery:${delivery?.id}`);
  if (delivery === undefined || events.length === 0) throw new Error('No delivery was made to copy.');
  for (let copied = 0; await more(ledger, copied); copied += portion) {
    const rows = Array.from({ length: portion }, (_, index) => {
      const bot = bots[(copied + index) % bots.length];
      const to: Record<string, Value> = bot === undefined ? {} : { agent_id: bot.id, recipient: bot.address };
      return { ...delivery, ...to, id: ids.next('delivery'), idem_key: null };
    });
    await insert(store, ledger, rows, events);
  }
  await store.close();
}

/** In one commit. */
async function insert(
  store: Store,
  ledger: Ledger,
  rows: readonly Readonly<Record<string, Value>>[],
  events: Awaited<ReturnType<Ledger['read']>>,
): Promise<void> {
  const columns = Object.keys(rows[0] ?? {});
  const statement = `INSERT INTO factory_delivery (${columns.join()}) VALUES (${columns.map(() => '?').join()})`;
  await store.write((tx) => {
    for (const row of rows) {
      tx.run(statement, ...columns.map((column) => row[column] as Value));
      for (const { type, actor, surface, body } of events) {
        ledger.append(tx, { type, actor, surface, subject: `delivery:${row.id}`, body: { ...body, id: row.id } });
      }
    }
  });
}
