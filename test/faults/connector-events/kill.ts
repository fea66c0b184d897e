/** Cloud and computer are killed and the wire between them is cut while events of many subscriptions come: one ticket an event, in order. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { logEnd } from '../../support/bench/paired.ts';
import { type Killable, runKillLoop, seededRandom } from '../../support/kill-loop.ts';
import { disorder, look, missing, type Told } from './kill/verdicts.ts';
import { createWorld, runtimeFile, type World } from './kill/world.ts';

export const figures: readonly Figure[] = [{ name: 'connector-events.kill', run: kill }];

const whole = { events: 10_000, subscriptions: 100, kills: 30, cuts: 10, killAfter: [0, 3_000] } as const;
const short = { events: 400, subscriptions: 20, kills: 4, cuts: 2, killAfter: [0, 1_500] } as const;
/** Between two events, until the kill. */
const pauseMs = 3;
/** Until the last of what waits has come: a lane that failed often waits minutes before it tries again. */
const settleMs = 15 * 60_000;

async function kill({ quick, log }: FigureOptions): Promise<Measured> {
  const { events, subscriptions, kills, cuts, killAfter } = quick ? short : whole;
  const random = seededRandom(3110);
  const world = await createWorld(subscriptions);
  const told = (): Told =>
    new Map([...world.opened].map(([project, ids]) => [world.subscriptions.get(project) ?? project, ids]));
  const began = performance.now();
  const took = () => Math.round((performance.now() - began) / 1000);
  let opened = 0;
  let cut = 0;
  try {
    const { problems } = await runKillLoop<Killable>({
      rounds: kills,
      random,
      killAfter,
      start: async (round) => {
        await world.up();
        return { pid: 0, kill: () => world.kill(round % 2 === 0 ? 'cloud' : 'runtime') };
      },
      // Some of them while everything stands, the others just before the kill and into the time that a program is down.
      drive: async (_program, signal, round) => {
        const from = opened;
        const until = Math.ceil((events * (round + 1)) / kills);
        const cutNow = Math.floor((cuts * (round + 1)) / kills) > cut;
        for (; opened < until; opened += 1) {
          if (cutNow && opened === Math.floor((from + until) / 2)) {
            world.cut();
            cut += 1;
          }
          world.open(`project-${Math.floor(random() * subscriptions)}`);
          if (!signal.aborted) await delay(pauseMs);
        }
      },
      check: async (_program, round) => {
        const arrived = look(runtimeFile(world));
        const found = disorder(arrived, told());
        const more = found.length === 0 ? '' : `, ${found.length} problems`;
        log(`${took()} s, kill ${round + 1}, ${cut} cuts: ${arrived.tickets.length} of ${opened} events${more}`);
        return found;
      },
      end: () => world.up(),
    });
    const arrived = await settled(world, told, log, took);
    const left = missing(arrived, told());
    const all = [
      ...new Set([...problems, ...disorder(arrived, told()), ...left.map((ref) => `${ref} never became a ticket`)]),
    ];
    if (all.length > 0) log(`${logEnd(world.cloudHome, 'cloud')}\n${logEnd(world.runtimeHome, 'gantry')}`);
    return {
      value: all.length,
      problems: all,
      unit: 'events lost, doubled or out of order',
      n: opened,
      at: `a tracker, gantry cloud and a paired gantry start: ${opened} events of ${subscriptions} subscriptions through callback, lane and relay into tickets; either program killed by SIGKILL in turn 0 to ${killAfter[1] / 1000} s after the link stands, ${kills} times, every connection to the cloud cut ${cut} times; read from the computer’s database`,
      detail: {
        seconds: took(),
        kills,
        cuts: cut,
        subscriptions,
        opened,
        tickets: arrived.tickets.length,
        posts: world.tracker.subscriptions.deliveries().filter(({ kind }) => kind === 'event').length,
      },
    };
  } finally {
    await world.close();
  }
}

async function settled(world: World, told: () => Told, log: (text: string) => void, took: () => number) {
  let arrived = look(runtimeFile(world));
  for (const end = performance.now() + settleMs; performance.now() < end; await delay(500)) {
    arrived = look(runtimeFile(world));
    if (missing(arrived, told()).length === 0) return arrived;
  }
  log(`${took()} s: something is still missing after ${settleMs / 60_000} minutes.`);
  return arrived;
}
