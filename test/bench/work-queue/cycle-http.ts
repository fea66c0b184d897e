/**
 * Enqueue → lease → ack over HTTP as people get it: 16 workers in other processes, a key, durable commits. Scaled to the machine on which the bound
 * was set, by a server that takes a post and keeps it in a row (`floor.ts`).
 */
import { fileURLToPath } from 'node:url';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { besideFloor, machineBy } from '../../support/bench/floor.ts';
import { median, rounded } from '../../support/bench/numbers.ts';
import { cpuMs } from '../../support/bench/processes.ts';
import { scratchHome, startBuilt } from '../../support/bench/product.ts';
import { startVictim, type Victim } from '../../support/victim.ts';

export const figures: readonly Figure[] = [{ name: 'work-queue.cycle-http', run }];

const driver = fileURLToPath(new URL('../../support/victims/queue-driver.ts', import.meta.url));
const processes = 4;
const workersEach = 4;
const backlog = 1_000;
/** A server that runs for a minute is what people have: until then it is compiling, which short rounds would count at full length. */
const warmCycles = 12_000;

async function run({ quick, log }: FigureOptions): Promise<Measured> {
  const rounds = quick ? 5 : 7;
  const cycles = quick ? 2_000 : 8_000;
  const place = scratchHome();
  const product = await startBuilt(place);
  const drivers: Victim[] = [];
  try {
    const { secret } = await product.web.call<{ secret: string }>('POST', '/api/v1/keys', {
      name: 'bench',
      scopes: ['work'],
    });
    for (let count = 0; count < processes; count += 1) {
      const argv = [product.origin, secret, String(workersEach), String(count)];
      drivers.push(startVictim({ command: [process.execPath, driver, ...argv] }));
    }
    await Promise.all(drivers.map((one) => one.until((line) => line === 'ready')));
    let told = 0;
    const all = async (command: string, count: number) => {
      told += 1;
      const word = `${told}`;
      for (const one of drivers) one.child.stdin?.write(`${command} ${Math.ceil(count / processes)} ${word}\n`);
      await Promise.all(drivers.map((one) => one.until((line) => line === `done ${word}`)));
    };
    await all('create', backlog);
    await all('cycle', warmCycles);
    const perSecond: number[] = [];
    const { found: samples, floors } = await besideFloor('row', rounds, async (round) => {
      const began = performance.now();
      const before = cpuMs(product.pid);
      await all('cycle', cycles);
      const micros = ((cpuMs(product.pid) - before) * 1000) / cycles;
      perSecond.push((cycles / (performance.now() - began)) * 1000);
      log(
        `round ${round + 1}: ${rounded(micros, 0)} µs of the server a cycle, ${rounded(perSecond.at(-1)!, 0)} a second`,
      );
      return micros;
    });
    const machine = machineBy('row', floors);
    return {
      value: median(samples) / machine.factor,
      unit: 'µs of server CPU a cycle of three requests, on the machine of the bound',
      n: rounds * cycles,
      at: `gantry start, /beta/work with an API key, ${processes * workersEach} workers on kept connections in ${processes} other processes, ${backlog} waiting, after ${warmCycles} cycles that do not count, SQLite at FULL with group commit`,
      detail: {
        rawUs: rounded(median(samples), 1),
        ...machine.detail,
        best: rounded(Math.min(...samples), 0),
        worst: rounded(Math.max(...samples), 0),
        perSecond: rounded(median(perSecond), 0),
      },
    };
  } finally {
    for (const one of drivers) await one.kill();
    await product.stop();
    await place.remove();
  }
}
