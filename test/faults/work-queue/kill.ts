/** Replicas and workers are killed in turn while they work a queue off: each task ends once, and nobody ever shares one. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { seededRandom } from '../../support/kill-loop.ts';
import type { Restarts } from '../../support/restarts.ts';
import { lostAcks, notEndedOnce, toldTooLong, twoHolders } from './kill/verdicts.ts';
import { createWorld, type World, type WorldSize } from './kill/world.ts';

export const figures: readonly Figure[] = [{ name: 'work-queue.kill', run }];

interface Plan {
  readonly size: WorldSize;
  readonly tasks: number;
  readonly longs: number;
  readonly kills: number;
  /** Between a kill and the next. */
  readonly pauseMs: readonly [number, number];
  readonly awayMs: readonly [number, number];
  readonly taskSeconds: readonly [number, number];
}

const whole: Plan = {
  size: { replicas: 3, workers: 4, concurrency: 4 },
  tasks: 1000,
  longs: 8,
  kills: 50,
  pauseMs: [500, 4000],
  awayMs: [0, 1500],
  taskSeconds: [0.05, 3],
};
/** The same with each program killed once: starting them is what takes time, and two replicas can contradict each other already. */
const short: Plan = {
  size: { replicas: 2, workers: 3, concurrency: 4 },
  tasks: 50,
  longs: 0,
  kills: 5,
  pauseMs: [100, 500],
  awayMs: [0, 500],
  taskSeconds: [0.05, 1.5],
};
/** Longer than a lease: kept by beats alone, whichever replica takes them. */
const longSeconds = 70;
/** Of the last long task, on a machine that does other things too. */
const settleMs = 8 * 60_000;
const leaseSeconds = 60;
const hands = 4;

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const { size, tasks, longs, kills, pauseMs, awayMs, taskSeconds } = quick ? short : whole;
  const random = seededRandom(1000);
  const between = ([least, max]: Plan['pauseMs']) => least + random() * (max - least);
  const world = await createWorld(size);
  const began = performance.now();
  const took = () => Math.round((performance.now() - began) / 1000);
  try {
    const all = [...world.replicas, ...world.workers];
    await Promise.all(world.workers.map((worker) => worker.start()));
    let done = 0;
    const handing = handOut(
      world,
      tasks,
      longs,
      () => between(taskSeconds),
      () => 0.3 + (0.7 * done) / kills,
    );
    // On a slow machine too there is something to lose from the first kill on.
    while (world.atWork() < size.workers) await delay(50);
    const starting = new Set<Promise<void>>();
    let turn: Restarts[] = [];
    while (done < kills) {
      await delay(between(pauseMs));
      if (turn.length === 0) turn = shuffled(all, random);
      // Whoever is down already waits for its next turn.
      const chosen = turn.findIndex((program) => program.isUp());
      if (chosen === -1) continue;
      const [program] = turn.splice(chosen, 1) as [Restarts];
      await program.kill();
      done += 1;
      log(`${took()} s, kill ${done}: ${program.name}; ${world.created.size} of ${tasks} tasks handed over`);
      const again = delay(between(awayMs)).then(() => program.start());
      starting.add(again);
      void again.finally(() => starting.delete(again)).catch(() => {});
    }
    await Promise.all(starting);
    await handing;
    await settled(world, log, took);
    const codes = await Promise.all(world.workers.map((worker) => worker.stop()));
    const seen = await world.seen();
    const found = {
      notEndedOnce: notEndedOnce(seen),
      twoHolders: twoHolders(seen),
      toldTooLong: toldTooLong(seen),
      lostAcks: lostAcks(seen),
    };
    const surprises = all.flatMap((program) => program.surprises);
    const unclean = codes
      .filter((code) => code !== 0)
      .map((code) => `a worker that was told to end ended with ${code}`);
    const problems = [...Object.values(found).flat(), ...surprises, ...unclean];
    return {
      value: problems.length,
      problems,
      unit: 'tasks not ended once, moments with two holders, lost acks',
      n: kills,
      at: `${size.replicas} gantry cloud on one PostgreSQL behind one address, ${size.workers} gantry worker of ${size.concurrency} commands each (a worker dies with what it started), ${tasks} commands of up to ${taskSeconds[1]} s and ${longs} of ${longSeconds} s; killed by SIGKILL in turn and started again within ${awayMs[1] / 1000} s; seen by a trigger of the database, by the commands themselves, by what the workers said and by what each answer told them`,
      detail: {
        seconds: took(),
        ...Object.fromEntries(Object.entries(found).map(([name, list]) => [name, list.length])),
        ended: seen.tasks.filter(({ status }) => status === 'succeeded').length,
        answersAboutLeases: seen.told.length,
        leases: seen.tasks.reduce((sum, { fence }) => sum + fence, 0),
        leasedAgain: seen.tasks.filter(({ fence }) => fence > 1).length,
        lost: seen.words.filter(({ word }) => word === 'lost').length,
        creationsCutOff: world.cutOff,
        kills: Object.fromEntries(all.map((program) => [program.name, program.kills.length])),
      },
    };
  } finally {
    await world.close();
  }
}

/** As many hands as it takes, never further than `share` of all. */
async function handOut(
  world: World,
  tasks: number,
  longs: number,
  seconds: () => number,
  share: () => number,
): Promise<void> {
  let next = 0;
  const everyNth = longs === 0 ? tasks : Math.floor(tasks / longs);
  await Promise.all(
    Array.from({ length: hands }, async () => {
      while (next < tasks) {
        if (next >= tasks * share()) {
          await delay(50);
          continue;
        }
        next += 1;
        await world.create(longs > 0 && next % everyNth === 0 ? longSeconds : Number(seconds().toFixed(2)));
      }
    }),
  );
}

/** Until nothing is left. What only leases of the dead keep from going on need not be waited for. */
async function settled(world: World, log: (text: string) => void, took: () => number): Promise<void> {
  let dead = 0;
  for (const end = performance.now() + settleMs; performance.now() < end; await delay(250)) {
    const { depth, leased, running } = await world.stats();
    if (depth + leased + running === 0) return;
    // Asked twice: a worker may just be hearing of its task.
    dead = depth === 0 && world.atWork() === 0 ? dead + 1 : 0;
    if (dead < 2) continue;
    log(`${took()} s: ${leased + running} are held by nobody who lives; their leases end now`);
    await world.passTime(leaseSeconds);
    dead = 0;
  }
  log(`Something is still there after ${settleMs / 60_000} minutes.`);
}

function shuffled<T>(list: readonly T[], random: () => number): T[] {
  return list
    .map((item) => ({ item, place: random() }))
    .toSorted((a, b) => a.place - b.place)
    .map(({ item }) => item);
}
