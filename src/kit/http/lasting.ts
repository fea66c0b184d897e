/** Answers that may last long, such as streams, and so must end with the caller's right to them. Must not know routes. */
import type { Clock } from '../clock/clock.ts';
import type { Timers } from '../clock/timers.ts';
import type { RequestContext } from './context.ts';
import type { Principal } from './types.ts';

/** Limit of a timer: the wall clock may jump, and Node fires at once if the time is more than 24 days off. Milliseconds. */
const maxWaitMs = 60_000;

/** Without `expiry`, answers go on when the credential of their caller expires. */
export function createLasting(expiry: { readonly clock: Clock; readonly timers: Timers } | undefined) {
  const lasting = new Set<RequestContext>();

  /** Returns a function that stops waiting for that end. */
  function endWithCredential(context: RequestContext): () => void {
    const { expiresAt } = context.principal;
    if (expiry === undefined || expiresAt === undefined) return () => {};
    let cancel = () => {};
    const look = () => {
      const left = expiresAt - expiry.clock.now();
      if (left <= 0) cutOff(context);
      else cancel = expiry.timers.after(Math.min(left, maxWaitMs), look);
    };
    look();
    return () => cancel();
  }

  return {
    add(context: RequestContext): void {
      lasting.add(context);
      const cancel = endWithCredential(context);
      context.response.on('close', () => {
        lasting.delete(context);
        cancel();
      });
    },
    cut(match: (principal: Principal) => boolean): void {
      for (const context of [...lasting]) {
        if (match(context.principal)) cutOff(context);
      }
    },
  };
}

function cutOff(context: RequestContext): void {
  context.abort();
  context.response.destroy();
}
