/** A PostgreSQL that is stopped at once, again and again, under a store that writes: what was acknowledged is there, once. */
import { setTimeout as delay } from 'node:timers/promises';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openPostgres } from '../../../src/kit/store/open-postgres.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { startBenchPostgres } from '../../support/bench/postgres.ts';
import { seededRandom } from '../../support/kill-loop.ts';

export const figures: readonly Figure[] = [{ name: 'store.postgres-kill', run }];

const writers = 8;
const awayMs = [200, 3000] as const;
const migrations = [
  {
    number: 1,
    name: 'notes and their count',
    sql: `CREATE TABLE note (id INTEGER PRIMARY KEY) STRICT;
      CREATE TABLE total (writer INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;`,
  },
];

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const kills = quick ? 3 : 20;
  const server = await startBenchPostgres();
  const store = await openPostgres({ url: server.url, migrations, clock: systemClock });
  const random = seededRandom(5);
  const load = startLoad(store);
  const problems: string[] = [];
  const backMs: number[] = [];
  try {
    for (let kill = 1; kill <= kills; kill += 1) {
      await delay(200 + random() * 800);
      await server.crash();
      const away = awayMs[0] + random() * (awayMs[1] - awayMs[0]);
      await delay(away);
      if (store.trouble() === null) problems.push(`kill ${kill}: nobody was told that the database is away`);
      await server.restart();
      backMs.push(await untilWritten(load));
      log(`kill ${kill}: away ${Math.round(away)} ms, written again after ${Math.round(backMs.at(-1)!)} ms`);
    }
    await load.stop();
    problems.push(...(await check(store, load)));
  } finally {
    await load.stop();
    await store.close();
    await server.stop();
  }
  return {
    value: problems.length,
    problems,
    unit: 'problems',
    n: kills,
    at: `${writers} writers of one store, each operation a look and two changes; PostgreSQL stopped with SIGQUIT at random moments and away for up to 3 s: acknowledged operations that are missing, refused ones that are kept, any that count twice, silence while it is away`,
    detail: {
      acknowledged: load.acknowledged.size,
      refused: load.refused,
      unknown: load.unknown.size,
      slowestMs: Math.round(Math.max(...backMs)),
    },
  };
}

interface Load {
  readonly acknowledged: ReadonlySet<number>;
  /** May or may not have been kept: the answer to COMMIT was lost. */
  readonly unknown: ReadonlySet<number>;
  readonly refused: number;
  stop(): Promise<void>;
}

function startLoad(store: SharedStore): Load {
  const acknowledged = new Set<number>();
  const unknown = new Set<number>();
  let refused = 0;
  let next = 0;
  let stopped = false;
  const write = async (writer: number) => {
    next += 1;
    const id = next;
    try {
      await store.write(function* (tx) {
        const row = yield* tx.get<{ n: number }>('SELECT n FROM total WHERE writer = ?', writer);
        yield* tx.run('INSERT INTO note (id) VALUES (?)', id);
        const count = 'INSERT INTO total (writer, n) VALUES (?, ?) ON CONFLICT (writer) DO UPDATE SET n = excluded.n';
        yield* tx.run(count, writer, (row?.n ?? 0) + 1);
      });
      acknowledged.add(id);
    } catch (error) {
      const { code, fact = '' } = error as { code?: string; fact?: string };
      if (code !== 'transport') throw error;
      if (fact.includes('not known')) unknown.add(id);
      else refused += 1;
      await delay(5);
    }
  };
  const loops = Array.from({ length: writers }, async (_, writer) => {
    while (!stopped) await write(writer);
  });
  return {
    acknowledged,
    unknown,
    get refused() {
      return refused;
    },
    async stop() {
      stopped = true;
      await Promise.all(loops);
    },
  };
}

async function untilWritten(load: Load): Promise<number> {
  const began = performance.now();
  const before = load.acknowledged.size;
  while (load.acknowledged.size === before) {
    if (performance.now() - began > 30_000)
      throw new Error('Nothing was written for 30 s after the database was back.');
    await delay(10);
  }
  return performance.now() - began;
}

async function check(store: SharedStore, { acknowledged, unknown }: Load): Promise<string[]> {
  const rows = await store.all<{ id: number }>('SELECT id FROM note');
  const kept = new Set(rows.map(({ id }) => id));
  const total = (await store.get<{ n: number }>('SELECT sum(n) AS n FROM total'))!.n;
  return [
    ...[...acknowledged].filter((id) => !kept.has(id)).map((id) => `${id} was acknowledged and is missing`),
    ...[...kept].filter((id) => !acknowledged.has(id) && !unknown.has(id)).map((id) => `${id} was refused and is kept`),
    ...(total === kept.size ? [] : [`${kept.size} operations were kept and ${total} were counted`]),
  ];
}
