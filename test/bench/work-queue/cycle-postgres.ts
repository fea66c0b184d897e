/** Enqueue → lease → ack on PostgreSQL beside pg-boss: client and engine together, every commit on the disk on both sides. */
import { PgBoss } from 'pg-boss';
import { workQueueMigrations } from '../../../src/cloud-api/work-queue/index.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openPostgres } from '../../../src/kit/store/open-postgres.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { startBenchPostgres } from '../../support/bench/postgres.ts';
import { atOnce, createCycles } from './support.ts';

export const figures: readonly Figure[] = [{ name: 'work-queue.cycle-postgres', run }];

const backlog = 1_000;
const parallel = 16;

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 3 : 7;
  const cycles = quick ? 1_000 : 5_000;
  const server = await startBenchPostgres();
  const store = await openPostgres({
    url: await server.database('ours'),
    migrations: workQueueMigrations,
    clock: systemClock,
    connections: parallel,
  });
  const boss = new PgBoss({
    connectionString: await server.database('peer'),
    max: parallel,
    supervise: false,
    schedule: false,
  });
  boss.on('error', (error) => log(String(error)));
  try {
    await boss.start();
    await boss.createQueue('task');
    const ours = createCycles(store);
    await atOnce(parallel, backlog, () => ours.create());
    await atOnce(parallel, backlog, () => boss.send('task', { command: 'true' }));
    const cost = async (work: (lane: number) => Promise<unknown>) => {
      const engine = server.cpuMs();
      const before = process.cpuUsage();
      await atOnce(parallel, cycles, work);
      const { user, system } = process.cpuUsage(before);
      return { client: (user + system) / cycles, engine: ((server.cpuMs() - engine) * 1000) / cycles };
    };
    const own = () => cost((lane) => ours.cycle(`w${lane}`));
    const peer = () =>
      cost(async () => {
        await boss.send('task', { command: 'true' });
        const [job] = await boss.fetch('task');
        if (job === undefined) throw new Error('pg-boss gave nothing.');
        await boss.complete('task', job.id, { exit_code: 0 });
      });
    await own();
    await peer();
    type Cost = Awaited<ReturnType<typeof cost>>;
    const sum = ({ client, engine }: Cost) => client + engine;
    const samples: { own: Cost; peer: Cost }[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const first = round % 2 === 0 ? await own() : await peer();
      const second = round % 2 === 0 ? await peer() : await own();
      samples.push(round % 2 === 0 ? { own: first, peer: second } : { own: second, peer: first });
      const last = samples.at(-1)!;
      log(`round ${round + 1}: ${rounded(sum(last.own), 0)} and ${rounded(sum(last.peer), 0)} µs a cycle`);
    }
    const part = (side: 'own' | 'peer', of: keyof Cost) => rounded(median(samples.map((each) => each[side][of])), 0);
    return {
      value: median(samples.map((sample) => sum(sample.own) / sum(sample.peer))),
      unit: '× pg-boss, CPU of a cycle in client and engine',
      n: rounds * cycles,
      at: `store in one process on PostgreSQL ${server.version} as it ships (fsync, synchronous_commit), ${parallel} connections, ${parallel} at once, ${backlog} waiting, ${rounds} rounds in turns; pg-boss without its maintenance`,
      own: rounded(median(samples.map((sample) => sum(sample.own))), 0),
      peer: { name: 'pg-boss 12.35.0', value: rounded(median(samples.map((sample) => sum(sample.peer))), 0) },
      detail: {
        unit: 'µs of CPU a cycle',
        own: { client: part('own', 'client'), engine: part('own', 'engine') },
        peer: { client: part('peer', 'client'), engine: part('peer', 'engine') },
      },
    };
  } finally {
    await boss.stop({ graceful: false });
    await store.close();
    await server.stop();
  }
}
