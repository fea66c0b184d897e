/** Gantry is killed while numbers are bought, registered and texted from: nothing is done twice at the carrier, and nothing is lost. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { logEnd } from '../../support/bench/paired.ts';
import { type Killable, runKillLoop, seededRandom } from '../../support/kill-loop.ts';
import { missing, repeated } from './kill/verdicts.ts';
import { createWorld, type World } from './kill/world.ts';

export const figures: readonly Figure[] = [{ name: 'phone.kill', run: kill }];

const whole = { kills: 20, businessesEach: 2, killAfter: [0, 1_500] } as const;
const short = { kills: 4, businessesEach: 1, killAfter: [0, 1_000] } as const;
/** What got no answer is looked for 20 s later, a text for two minutes. */
const settleMs = 5 * 60_000;

async function kill({ quick, log }: FigureOptions): Promise<Measured> {
  const { kills, businessesEach, killAfter } = quick ? short : whole;
  const random = seededRandom(4117);
  const world = await createWorld();
  const began = performance.now();
  const took = () => Math.round((performance.now() - began) / 1000);
  try {
    const { problems } = await runKillLoop<Killable>({
      rounds: kills,
      random,
      killAfter,
      start: async () => {
        const { pid } = await world.up();
        return { pid, kill: () => world.kill() };
      },
      drive: async (_program, signal) => {
        for (let added = 0; added < businessesEach; added += 1) world.add();
        await world.turn(signal);
      },
      check: async (_program, round) => {
        const found = repeated(world.sim.state);
        const done = world.told.filter(({ released }) => released).length;
        log(
          `${took()} s, kill ${round + 1}: ${done} of ${world.told.length} businesses done, ${found.length} repeated`,
        );
        return found;
      },
      end: async () => {},
    });
    const isDone = await settled(world);
    const state = world.sim.state;
    const all = [...new Set([...problems, ...repeated(state), ...missing(state, world.told)])];
    if (!isDone) all.push(`Not all were done within ${settleMs / 60_000} minutes.`);
    if (all.length > 0) log(logEnd(world.home.home, 'gantry'));
    const count = (what: string) => state.charges.filter((charge) => charge.what === what).length;
    return {
      value: all.length,
      unit: 'steps repeated or lost',
      n: kills,
      problems: all,
      at: `gantry start with a simulated carrier on its wire: ${world.told.length} numbers bought, registered, texted from and released while the program is killed by SIGKILL ${kills} times, 0 to ${killAfter[1] / 1000} s after it stands; read from the carrier’s books`,
      detail: {
        seconds: took(),
        numbers: count('number'),
        brands: count('brand'),
        campaigns: count('campaign'),
        texts: count('text'),
        answered: world.told.reduce((sum, { sent }) => sum + sent.length, 0),
      },
    };
  } finally {
    await world.close();
  }
}

async function settled(world: World): Promise<boolean> {
  const stop = new AbortController();
  const end = delay(settleMs, undefined, { signal: stop.signal }).then(
    () => stop.abort(),
    () => {},
  );
  await world.up();
  const isDone = await world.turn(stop.signal);
  // Fees of what was released end after it was answered.
  while (!stop.signal.aborted && missing(world.sim.state, world.told).length > 0) await delay(500);
  stop.abort();
  await end;
  return isDone;
}
