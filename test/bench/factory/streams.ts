/** Ten thousand readers of the event stream: what they cost the serving program, and that none of them misses an event. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { rounded, spread } from '../../support/bench/numbers.ts';
import { cpuMs, maxFiles, pssMb } from '../../support/bench/processes.ts';
import { type Product, scratchHome, shellTeam, startBuilt, teamUp } from '../../support/bench/product.ts';
import type { FromReaders, ToReaders } from '../../support/bench/stream-readers.ts';

export const figures: readonly Figure[] = [{ name: 'factory.streams', run: streams }];

const max = { quick: 1000, full: 10_000 };
const sends = { quick: 10, full: 30 };
/** Programs that hold the readers' ends. */
const programs = 4;
/** Files that the engine has open besides. */
const otherFiles = 500;
const program = new URL('../../support/bench/stream-readers.ts', import.meta.url);

async function streams({ quick, log }: FigureOptions): Promise<Measured> {
  const wanted = quick ? max.quick : max.full;
  const unit = 'MB PSS';
  const at = `engine port, PSS of the whole server process (runtime and cloud API) at its highest while ${wanted} streams of GET /api/factory/events are open, written to, and a tenth of them cut and back with Last-Event-ID`;
  const allowed = maxFiles();
  if (allowed < wanted + otherFiles) {
    return { value: null, unit, n: wanted, at, why: `A program may open ${allowed} files here (ulimit -Hn).` };
  }
  const place = scratchHome({ bench: shellTeam('bench', ['one']) });
  const readers: Readers[] = [];
  try {
    const started = await startBuilt({ ...place, env: { ...place.env, GANTRY_EVENT_STREAMS: String(wanted) } });
    await teamUp(started, 'bench');
    await send(started);
    const before = pssMb(started.pid);
    const head = (await eventIds(started)).at(-1) as number;
    for (let index = 0; index < programs; index += 1) readers.push(createReaders());
    await Promise.all(readers.map((each, index) => each.ask(opening(started, wanted / programs, index), 'opened')));
    const opened = pssMb(started.pid);
    log(`${wanted} streams open: ${before.toFixed(1)} MB before, ${opened.toFixed(1)} MB now`);

    const watch = watchMemory(started.pid);
    const cpuBefore = cpuMs(started.pid);
    const tookMs: number[] = [];
    for (let round = 0; round < sends[quick ? 'quick' : 'full']; round += 1) {
      const asked = performance.now();
      // While events are on their way, some leave and come back.
      const cut =
        round === 5 ? readers.map((each) => each.ask({ do: 'cut', streams: wanted / programs / 10 }, 'resumed')) : [];
      await send(started);
      tookMs.push(performance.now() - asked);
      await Promise.all(cut);
    }
    const ids = (await eventIds(started)).filter((id) => id > head);
    const compared = await Promise.all(
      readers.map((each) => each.ask({ do: 'compare', ids, waitMs: 60_000 }, 'compared')),
    );
    const cpu = cpuMs(started.pid) - cpuBefore;
    const highest = watch.stop();
    const sound = compared.reduce((sum, each) => sum + each.sound, 0);
    if (sound !== wanted) {
      throw new Error(
        `${wanted - sound} of ${wanted} streams missed events: ${compared.flatMap(({ problems }) => problems)[0]}`,
      );
    }
    for (const each of readers) each.end();
    await started.stop();
    return {
      value: highest,
      unit,
      n: wanted,
      at,
      detail: {
        before: rounded(before, 1),
        open: rounded(opened, 1),
        kbAStream: rounded(((highest - before) * 1000) / wanted, 1),
        events: ids.length,
        cpuUsAStreamAndEvent: rounded((cpu * 1000) / (ids.length * wanted), 1),
        sendMs: spread(tookMs),
      },
    };
  } finally {
    for (const each of readers) each.end();
    await place.remove();
  }
}

async function send(product: Product): Promise<void> {
  await product.engine.call('POST', '/api/factory/send', { to: 'one@bench', text: 'true' });
}

/** Of every event so far, as a stream from the beginning gives them. */
async function eventIds(product: Product): Promise<number[]> {
  const ids: number[] = [];
  let seen = performance.now();
  const stream = await product.web.events(
    '/api/factory/events',
    ({ id }) => {
      if (id !== null) ids.push(Number(id));
      seen = performance.now();
    },
    '0',
  );
  while (performance.now() - seen < 1000) await delay(50);
  stream.close();
  return ids;
}

function opening({ engineUrl, token }: Product, count: number, index: number): ToReaders {
  const { hostname, port } = new URL(engineUrl);
  // Each uses its own address, because an address has only some 28,000 ports to call from.
  const from = `127.0.0.${index + 2}`;
  return { do: 'open', host: hostname, port: Number(port), from, path: '/api/factory/events', token, streams: count };
}

interface Readers {
  ask<S extends FromReaders['said']>(message: ToReaders, said: S): Promise<Extract<FromReaders, { said: S }>>;
  end(): void;
}

function createReaders(): Readers {
  const child: ChildProcess = fork(program, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  return {
    async ask(message, said) {
      child.send(message);
      const [answer] = (await once(child, 'message')) as [FromReaders];
      if (answer.said !== said) throw new Error('why' in answer ? answer.why : `Readers said ${answer.said}.`);
      return answer as never;
    },
    end: () => child.kill(),
  };
}

/** The highest of what is seen four times a second. */
function watchMemory(pid: number): { stop(): number } {
  let highest = pssMb(pid);
  const timer = setInterval(() => {
    highest = Math.max(highest, pssMb(pid));
  }, 250);
  return {
    stop: () => {
      clearInterval(timer);
      return Math.max(highest, pssMb(pid));
    },
  };
}
