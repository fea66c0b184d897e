/** Waits for the person to approve a code at the cloud: asks again and again until it is granted, refused or over. Must not know what a grant is for. */
import type { PairingGrant } from '../../contracts/link/pairings.ts';
import type { Base } from '../base/base.ts';
import type { AskCloud } from './ask-cloud.ts';

export interface Waiting {
  readonly cloudUrl: string;
  readonly userCode: string;
  readonly verificationUri: string;
  readonly verificationUriComplete: string;
  readonly expiresAt: string;
  readonly deviceCode: string;
  readonly intervalMs: number;
  /** Of the cloud's clock; null: unknown. */
  readonly aheadMs: number | null;
}

export function createCodeWait(
  deps: Pick<Base, 'clock' | 'timers'> & {
    readonly cloud: Pick<AskCloud, 'poll'>;
    /** A rejection counts as one that could not be saved. */
    readonly granted: (asked: Waiting, grant: PairingGrant) => Promise<void>;
    readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
  },
) {
  const { cloud, clock, timers, log } = deps;
  let waiting: Waiting | null = null;
  /** Why the last attempt came to nothing. */
  let failed: string | null = null;
  let cancelPoll = () => {};
  let closed = false;

  function poll(asked: Waiting): void {
    if (closed) return;
    cancelPoll = timers.after(asked.intervalMs, () => {
      cloud
        .poll(asked.cloudUrl, asked.deviceCode)
        .then(async (polled) => {
          if (waiting !== asked) return;
          if (polled.is === 'granted') {
            await deps.granted(asked, polled.grant);
          } else if (polled.is === 'over') giveUp(polled.why);
          else if (Date.parse(asked.expiresAt) <= clock.now()) giveUp('Nobody approved the code in time.');
          else poll(asked);
        })
        .catch((fault: unknown) => giveUp(`The pairing could not be saved: ${String(fault)}`));
    });
  }

  function giveUp(why: string): void {
    waiting = null;
    failed = why;
    log.warn('This computer was not paired.', { why });
  }

  /** Without a wait; `why`: what went wrong. */
  function settle(why: string | null): void {
    cancelPoll();
    waiting = null;
    failed = why;
  }

  return {
    now: () => waiting,
    failed: () => failed,
    begin(asked: Waiting): void {
      settle(null);
      waiting = asked;
      poll(asked);
    },
    settle,
    /** What went wrong, beside a wait that goes on. */
    fail(why: string): void {
      failed = why;
    },
    /** Also what begins after it polls nothing: nothing is saved any more. */
    close(): void {
      closed = true;
      settle(failed);
    },
  };
}
