/** Either end of a link is killed again and again: what waits in lanes comes to the other end once, in order, both ways. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { logEnd } from '../../support/bench/paired.ts';
import { type Killable, runKillLoop, seededRandom } from '../../support/kill-loop.ts';
import { disorder, look, missing } from './kill/verdicts.ts';
import { createWorld } from './kill/world.ts';

export const figures: readonly Figure[] = [{ name: 'link.kill', run: kill }];

/** Until the last of what waits has come, on a machine that does other things too. */
const settleMs = 120_000;

async function kill({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 4 : 20;
  const world = await createWorld();
  try {
    const { kills, problems } = await runKillLoop<Killable>({
      rounds,
      random: seededRandom(3010),
      killAfter: [0, 1500],
      start: async (round) => {
        await world.up();
        // In turn; a lane that was being worked off is hit at either end.
        return { pid: 0, kill: () => world.kill(round % 2 === 0 ? 'cloud' : 'runtime') };
      },
      drive: async (_program, signal) => {
        while (!signal.aborted) await delay(10);
      },
      check: async (_program, round) => {
        const arrived = look(world);
        const found = disorder(arrived);
        const { tickets, heard, taken } = arrived;
        log(
          `kill ${round + 1}: ${tickets.length} of ${world.posted.length} events, ${heard.length} of ${world.asked.size} questions, ${taken.length} answers${found.length === 0 ? '' : `, ${found.length} problems`}`,
        );
        return found;
      },
      end: () => world.quiet(),
    });
    let arrived = look(world);
    let left = missing(world, arrived);
    for (const end = performance.now() + settleMs; left.length > 0 && performance.now() < end; ) {
      await delay(250);
      arrived = look(world);
      left = missing(world, arrived);
    }
    const all = [...new Set([...problems, ...disorder(arrived), ...left])];
    if (all.length > 0) log(`${logEnd(world.cloudHome, 'cloud')}\n${logEnd(world.runtimeHome, 'gantry')}`);
    return {
      value: all.length,
      problems: all,
      unit: 'items lost, doubled or out of order',
      n: kills,
      at: 'gantry cloud and a paired gantry start, killed in turn by SIGKILL 0 to 1.5 s after the link stands, driven all the while: events of a trigger (lane of the cloud, over the link, into tickets), questions (lane of the computer, signed, into approvals) and their answers back over the link; read from both databases',
      detail: {
        events: world.posted.length,
        tickets: arrived.tickets.length,
        asked: world.asked.size,
        heard: arrived.heard.length,
        answered: arrived.given.length,
        taken: arrived.taken.length,
        gone: arrived.gone.size,
      },
    };
  } finally {
    await world.close();
  }
}
