/** What only the start of a server needed is given back to the system once it is quiet. */
import { systemTimers } from '../kit/clock/timers.ts';
import { collectGarbage } from '../kit/process/collect-garbage.ts';

/** Most starts have loaded by then what they load; ms. */
const quietAfterMs = 10_000;

/** Call it once the server is ready. It takes up to 100 ms of the one thread, once, and gives back a quarter of the memory. */
export function giveBackStartMemory(): void {
  systemTimers.after(quietAfterMs, () => collectGarbage('regular'));
}
