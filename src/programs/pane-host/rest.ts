/** Puts idle panes to sleep, one at a time, and frees their memory. It judges only by time. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Host } from './host.ts';

/** A pane that has printed nothing and that nobody has looked at for so long, ms. */
const sleepAfterMs = 120_000;
/** How often panes are looked at: a fraction of the time after which they sleep. */
const looks = 4;
const maxWaitMs = 15_000;
/** Between two panes that fall asleep, ms: each takes 10 to 20 of the one thread. */
const breathMs = 20;

interface Rest {
  /** Null: no pane sleeps from now on. */
  after(ms: number | null): void;
  stop(): void;
}

export function createRest(host: Pick<Host, 'sleepOne'>): Rest {
  let idleMs: number | null = sleepAfterMs;
  let timer: NodeJS.Timeout | undefined;
  let slept = 0;

  function look(): void {
    if (idleMs === null) return;
    if (host.sleepOne(idleMs)) {
      slept++;
      timer = setTimeout(look, breathMs);
      return;
    }
    if (slept > 0) collect();
    slept = 0;
    timer = setTimeout(look, Math.min(idleMs / looks, maxWaitMs)).unref();
  }
  look();
  return {
    after(ms) {
      idleMs = ms;
      clearTimeout(timer);
      look();
    },
    stop: () => clearTimeout(timer),
  };
}

/**
 * An idle process runs no garbage collection, and the emulator of a sleeping pane would stay in memory. The usual kind keeps the emptied pages for what
 * comes next; this one gives them back, for up to 30 ms of the one thread.
 */
function collect(): void {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (how: object) => void;
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
}
