/**
 * What the driver docker knows of its computers' networks after their start: every hour addresses that must be refused are tried from inside each one that
 * runs. One from which an address can be reached is killed, and no computer is made until all that run are proven again. Must not know the engine's words.
 */
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { noWayWords, refusedSamples, refusedWord } from '../../programs/computer-init/protocol.ts';

/** Milliseconds. A failure is looked at again soon: what failed is gone by then. */
const everyMs = 3_600_000;
const againMs = 60_000;

export function createDockerProof(deps: {
  /** Computers that run and have a network. */
  readonly running: () => Promise<readonly string[]>;
  /** What comes of a connection to each address, tried inside by a user that nothing in the computer can touch; null: the computer has ended. */
  readonly attempt: (
    computer: string,
    addresses: readonly string[],
  ) => Promise<Readonly<Record<string, string>> | null>;
  /** Of the engine's machine and of the cloud. */
  readonly addresses: () => Promise<readonly string[]>;
  readonly kill: (computer: string) => Promise<void>;
  readonly clock: Pick<Clock, 'now'>;
  readonly timers: Timers;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}) {
  const { timers, log } = deps;
  let closed = false;
  let cancel = () => {};
  let unproven: string | null = null;
  let provenAt: number | null = null;

  async function prove(): Promise<string | null> {
    const computers = await deps.running();
    if (computers.length === 0) return null;
    let tried = 0;
    const addresses = [...refusedSamples, ...(await deps.addresses())];
    let first: string | null = null;
    for (const computer of computers) {
      const came = await deps.attempt(computer, addresses);
      if (came !== null) tried += 1;
      const wrong = Object.entries(came ?? {}).find(([, what]) => what !== refusedWord && !noWayWords.has(what));
      if (wrong === undefined) continue;
      const why = `From inside of ${computer}, ${wrong[0]} answered with "${wrong[1]}": its network is no longer restricted to public addresses.`;
      log.warn('A hosted computer was stopped.', { computer, why });
      await deps.kill(computer);
      first ??= why;
    }
    if (first === null && tried > 0) provenAt = deps.clock.now();
    return first;
  }

  function later(ms: number): void {
    if (closed) return;
    cancel = timers.after(ms, () => {
      prove()
        .then((why) => {
          unproven = why;
        })
        // Away: its computers cannot be made, woken or called from here either.
        .catch((fault: Error) =>
          log.warn('The networks of hosted computers could not be tried.', { fault: fault.message }),
        )
        .finally(() => later(unproven === null ? everyMs : againMs));
    });
  }

  later(everyMs);
  return {
    /** A sentence; null: each that runs was proven, at its start or within the hour. */
    unproven: () => unproven,
    /** A computer has proven its network at its start. */
    started(): void {
      provenAt = deps.clock.now();
    },
    /** Milliseconds since the epoch; null: not since this process began. */
    provenAt: () => provenAt,
    close(): void {
      closed = true;
      cancel();
    },
  };
}
