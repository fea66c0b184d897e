/** What only the start of a server needed is given back to the system once it is quiet. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { systemTimers } from '../kit/clock/timers.ts';

/** Most starts have loaded by then what they load; ms. */
const quietAfterMs = 10_000;

/**
 * Call it once the server is ready. Node collects no garbage while nothing is allocated. This takes up to 100 ms of the one thread, once, and a quarter
 * of the memory goes back some seconds later.
 */
export function giveBackStartMemory(): void {
  systemTimers.after(quietAfterMs, () => {
    setFlagsFromString('--expose-gc');
    const gc = runInNewContext('gc') as () => void;
    gc();
  });
}
