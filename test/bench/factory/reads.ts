/** The cost of a read follows what it returns, not how much history there is. */
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { fillDeliveries } from '../../support/bench/deliveries.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { cpuMs } from '../../support/bench/processes.ts';
import {
  type Product,
  type ScratchHome,
  scratchHome,
  shellTeam,
  startProduct,
  teamUp,
} from '../../support/bench/product.ts';

export const figures: readonly Figure[] = [{ name: 'factory.reads', run: reads }];

const few = 1000;
const many = { quick: 40_000, full: 1_000_000 };
const replayed = 100;

interface Subject {
  readonly place: ScratchHome;
  readonly product: Product;
  /** The event id after which exactly {@link replayed} events follow. */
  readonly cursor: string;
}

type Read = (subject: Subject) => Promise<void>;

const operations: Readonly<Record<string, Read>> = {
  agents: async ({ product }) => {
    const { agents } = await product.engine.call<{ agents: unknown[] }>('GET', '/api/factory/agents');
    if (agents.length !== 3) throw new Error(`${agents.length} agents instead of 3.`);
  },
  deliveries: async ({ product }) => {
    const answer = await product.engine.call<{ deliveries: unknown[] }>('GET', '/api/factory/deliveries?limit=50');
    if (answer.deliveries.length !== 50) throw new Error(`${answer.deliveries.length} deliveries instead of 50.`);
  },
  replay: ({ product, cursor }) =>
    new Promise((resolve, reject) => {
      let seen = 0;
      const opening = product.engine.events(
        '/api/factory/events',
        ({ id }) => {
          if (id === null) return;
          seen += 1;
          if (seen === replayed) opening.then((stream) => stream.close()).then(resolve, reject);
        },
        cursor,
      );
      opening.catch(reject);
    }),
};

async function reads({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = 9;
  const calls = quick ? 100 : 300;
  const history = quick ? many.quick : many.full;
  const small = await prepare(few, log);
  try {
    const large = await prepare(history, log);
    try {
      const ratios: Record<string, number> = {};
      for (const [name, read] of Object.entries(operations)) {
        await cost(small, read, calls);
        await cost(large, read, calls);
        const samples: number[] = [];
        for (let round = 0; round < rounds; round += 1) {
          // In turn, and each first as often as the other: what else the machine does falls on both.
          const [first, second] = round % 2 === 0 ? [small, large] : [large, small];
          const costs = new Map([[first, await cost(first, read, calls)]]);
          costs.set(second, await cost(second, read, calls));
          samples.push((costs.get(large) as number) / (costs.get(small) as number));
        }
        ratios[name] = rounded(median(samples));
        log(`${name}: × ${ratios[name]} (${samples.map((ratio) => ratio.toFixed(2)).join(' ')})`);
      }
      await Promise.all([small.product.stop(), large.product.stop()]);
      return {
        value: Math.max(...Object.values(ratios)),
        unit: `× the CPU at ${few} ledger rows`,
        n: rounds * calls,
        at: `engine port, CPU of the server's process for GET agents, GET deliveries?limit=50 and a replay of ${replayed} events at ${history} ledger rows; the worst of the three`,
        detail: ratios,
      };
    } finally {
      await large.place.remove();
    }
  } finally {
    await small.place.remove();
  }
}

async function cost(subject: Subject, read: Read, calls: number): Promise<number> {
  const before = cpuMs(subject.product.pid);
  for (let call = 0; call < calls; call += 1) await read(subject);
  return cpuMs(subject.product.pid) - before;
}

/** A home with three live bots whose ledger holds `rows` rows of real deliveries: copies of one that was really made. */
async function prepare(rows: number, log: (text: string) => void): Promise<Subject> {
  const place = scratchHome({ bench: shellTeam('bench', ['one', 'two', 'three']) });
  const first = await startProduct(place);
  await teamUp(first, 'bench');
  await first.engine.call('POST', '/api/factory/send', { to: 'one@bench', text: 'true' });
  // Bots live on in the pane host, as with any restart.
  await first.kill();
  const file = join(place.home, 'runtime.db');
  await fillDeliveries(file, async (ledger) => Number(await ledger.head()) < rows);
  const product = await startProduct(place);
  const cursor = cursorBefore(file);
  log(`${rows} ledger rows, replay after ${cursor}`);
  return { place, product, cursor };
}

/** What a client that has seen all but the last hundred events would name. */
function cursorBefore(file: string): string {
  const database = new Database(file, { readonly: true });
  const row = database
    .prepare("SELECT seq FROM ledger WHERE type = 'delivery' ORDER BY seq DESC LIMIT 1 OFFSET ?")
    .pluck()
    .get(replayed) as number;
  database.close();
  return String(row);
}
