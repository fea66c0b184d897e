/** Limits how many messages a server may send: beyond that it is read slowly, so that a flood costs it time and not us. */
import type { Clock } from '../../../kit/clock/clock.ts';

/** Of one server. No honest one comes near. */
const maxMessages = 1000;
const windowMs = 1000;

export interface Pace {
  count(): void;
  /** For how many milliseconds nothing should be read now. */
  wait(): number;
}

export function createPace(clock: Clock): Pace {
  let since = clock.monotonic();
  let count = 0;
  return {
    count() {
      const now = clock.monotonic();
      if (now - since >= windowMs) {
        since = now;
        count = 0;
      }
      count += 1;
    },
    wait: () => (count < maxMessages ? 0 : Math.max(0, since + windowMs - clock.monotonic())),
  };
}
