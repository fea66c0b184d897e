/**
 * Other computers that run bots of this workspace: one stream each reports the bots' state, and shows that the computer can be reached. Reconnects
 * automatically after a cut. Must not know registry or panes.
 */

import { AppError } from '../../../contracts/common/errors.ts';
import { type PeerAgent, PeerAgents } from '../../../contracts/factory/peer-routes.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Base } from '../../base/base.ts';
import type { PeerCalls, PeerHome } from './calls.ts';

/** A stream that lived this long ended with its ticket, or with the link for a moment: the next one is requested at once. */
const steadyMs = 5000;
/** Delays between tries, the last one for good: messages wait as long. Each is spread by chance. Milliseconds. */
const backoffMs = [250, 500, 1000, 2000, 5000];

interface ComputerWatcher {
  /** The computer's report on this person's bots there. */
  onAgents(agents: readonly PeerAgent[]): void;
  /** Why it cannot be reached, and since when; null when it can be again. */
  onAway(why: string | null): void;
}

export interface RemoteComputers {
  /**
   * The first watcher of a computer opens its stream, the last one closes it. Nothing is reported before this has returned: earlier reports may be
   * older than the watcher's state.
   */
  watch(computerId: string, name: string, watcher: ComputerWatcher): () => void;
  /** Why it cannot be reached now, in words; null while it can, or before the first try. */
  away(computerId: string): string | null;
  close(): void;
}

interface Watched {
  readonly name: string;
  readonly watchers: Set<ComputerWatcher>;
  readonly stop: AbortController;
  away: string | null;
  /** Tries at once instead of after its pause. */
  hurry: () => void;
}

export function createRemoteComputers(
  deps: Pick<Base, 'clock' | 'timers'> & {
    readonly calls: Pick<PeerCalls, 'stream'>;
    readonly home: Pick<PeerHome, 'onChange'>;
    /** 0 ≤ x < 1. */
    readonly random: () => number;
  },
): RemoteComputers {
  const computers = new Map<string, Watched>();

  const setAway = (computer: Watched, why: string | null) => {
    if (computer.away === why) return;
    computer.away = why;
    for (const watcher of [...computer.watchers]) watcher.onAway(why);
  };
  const take = (computer: Watched, event: string, data: unknown) => {
    if (event !== 'agents') return;
    const parsed = PeerAgents.safeParse(data);
    if (!parsed.success) return;
    setAway(computer, null);
    for (const watcher of [...computer.watchers]) watcher.onAgents(parsed.data.agents);
  };
  const pause = (computer: Watched, ms: number) =>
    new Promise<void>((resolve) => {
      const cancel = deps.timers.after(ms * (0.5 + deps.random() / 2), resolve);
      computer.hurry = () => {
        cancel();
        resolve();
      };
    });

  const follow = async (id: string, computer: Watched): Promise<void> => {
    const { signal } = computer.stop;
    let failures = 0;
    let since = deps.clock.now();
    while (!signal.aborted) {
      let heard = false;
      let why = 'its stream ended';
      const began = deps.clock.monotonic();
      try {
        await deps.calls.stream(
          id,
          'events',
          (event, data) => {
            heard = true;
            take(computer, event, data);
          },
          signal,
        );
        // A stream ends with its ticket every few minutes: that is not enough to call the computer away.
        if (heard && deps.clock.monotonic() - began >= steadyMs) {
          failures = 0;
          continue;
        }
      } catch (error) {
        why = error instanceof AppError ? error.fact : String(error);
      }
      if (signal.aborted) return;
      if (heard || failures === 0) since = deps.clock.now();
      failures = heard ? 1 : failures + 1;
      setAway(computer, `${computer.name} cannot be reached since ${iso(since)}: ${why}`);
      await pause(computer, backoffMs[Math.min(failures, backoffMs.length) - 1] ?? 0);
    }
  };

  const stopHome = deps.home.onChange(() => {
    for (const computer of computers.values()) computer.hurry();
  });

  return {
    watch(computerId, name, watcher) {
      let computer = computers.get(computerId);
      if (computer === undefined) {
        computer = { name, watchers: new Set(), stop: new AbortController(), away: null, hurry: () => {} };
        computers.set(computerId, computer);
        void follow(computerId, computer);
      }
      const watched = computer;
      watched.watchers.add(watcher);
      return () => {
        if (!watched.watchers.delete(watcher) || watched.watchers.size > 0) return;
        if (computers.get(computerId) === watched) computers.delete(computerId);
        watched.stop.abort();
        watched.hurry();
      };
    },
    away: (computerId) => computers.get(computerId)?.away ?? null,
    close() {
      stopHome();
      for (const computer of computers.values()) {
        computer.stop.abort();
        computer.hurry();
      }
      computers.clear();
    },
  };
}
