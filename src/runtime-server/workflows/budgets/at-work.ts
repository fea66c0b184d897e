/** The steps that are at work now, and the minutes of their budgets, which pass while they are. Must not know what a budget that is used up does. */
import type { WorkflowDeps } from '../deps.ts';
import { saveUsedMs } from '../store/budgets.ts';
import type { Accounts, Budget, Place } from './accounts.ts';

interface AtWork extends Place {
  readonly address: string;
  /** Its minutes pass: not while it waits for its person. */
  readonly isTimed: boolean;
}

const tickMs = 5000;
/** A tick that comes later than this: the computer slept, and nothing was at work. */
const lateMs = 5000;

export function createAtWork(
  deps: Pick<WorkflowDeps, 'store' | 'clock' | 'timers' | 'workspace' | 'watch'> & {
    readonly accounts: Pick<Accounts, 'of' | 'judge'>;
    readonly behind: (what: string, done: Promise<unknown>) => void;
  },
) {
  const { store, clock, workspace, accounts } = deps;
  const steps = new Map<string, AtWork>();
  /** What each bot had last: its last answers are counted late. */
  const lastOf = new Map<string, AtWork>();
  let tickedAt = 0;
  let cancelTick: (() => void) | null = null;
  let closed = false;

  function tick(): void {
    if (cancelTick !== null || closed) return;
    const timed = [...steps.values()].some(
      (at) => at.isTimed && accounts.of(at).some(({ budget }) => budget.minutes !== undefined),
    );
    if (!timed) return;
    tickedAt = clock.monotonic();
    cancelTick = deps.timers.after(tickMs, () => {
      cancelTick = null;
      const passed = Math.min(clock.monotonic() - tickedAt, tickMs + lateMs);
      const passing = new Set<Budget>();
      for (const at of steps.values()) {
        if (!at.isTimed) continue;
        if (at.address.includes('@') && deps.watch?.of(at.address)?.excused === true) continue;
        for (const one of accounts.of(at)) if (one.budget.minutes !== undefined) passing.add(one);
      }
      for (const one of passing) one.usedMs += passed;
      deps.behind(
        'Keeping the time of a budget',
        store.write((tx) => {
          for (const { subject, usedMs } of passing) saveUsedMs(tx, workspace, subject, Math.round(usedMs));
        }),
      );
      for (const one of passing) accounts.judge(one);
      tick();
    });
  }

  return {
    begin(at: AtWork, holder: string | null) {
      steps.set(at.nodeId, at);
      if (holder !== null) lastOf.set(holder, at);
    },
    end: (nodeId: string) => void steps.delete(nodeId),
    get: (nodeId: string) => steps.get(nodeId),
    all: () => [...steps.values()],
    lastOf: (address: string) => lastOf.get(address),
    tick,
    close() {
      closed = true;
      cancelTick?.();
    },
  };
}
