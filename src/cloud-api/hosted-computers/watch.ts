/**
 * Periodic work for computers: puts idle ones to sleep, has those dial that no replica is linked to, and, once a minute over all replicas, counts minutes, enforces spend caps, and compares the
 * driver's list with the cloud's. Must not know HTTP.
 */
import type { Timers } from '../../kit/clock/timers.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { capReached } from './caps.ts';
import type { HostedDriver } from './driver.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Meters, Prices } from './meters.ts';
import type { ProjectsOf } from './projects.ts';
import type { HostedSettings } from './settings.ts';
import type { ComputerStore } from './store.ts';
import type { Ways } from './ways.ts';

interface Watch {
  start(): void;
  /** Waits for the work under way. */
  close(): Promise<void>;
}

const lookMs = 5_000;
const minuteMs = 60_000;
/** Without this, a replica that was a moment early would wait another minute. */
const minuteLess = minuteMs - lookMs / 2;
const claim = `INSERT INTO hosted_job (name, at) VALUES ('minute', ?) ON CONFLICT (name) DO UPDATE SET at = excluded.at
  WHERE hosted_job.at <= ? OR hosted_job.at > excluded.at`;

export function createWatch(deps: {
  readonly store: SharedStore;
  readonly now: () => number;
  readonly timers: Timers;
  readonly computers: ComputerStore;
  readonly lifecycle: Lifecycle;
  readonly meters: Meters;
  readonly settings: Pick<HostedSettings, 'pool'>;
  readonly projects: ProjectsOf;
  readonly driver: Pick<HostedDriver, 'away' | 'watch'>;
  readonly ways: Pick<Ways, 'keep'>;
  readonly prices: () => Promise<Prices>;
  readonly log: { warn(message: string, facts?: Record<string, unknown>): void };
}): Watch {
  const { store, now, timers, computers, lifecycle, meters, log } = deps;
  let closed = false;
  let toldAway: string | null = null;
  let cancel = () => {};
  let under: Promise<void> = Promise.resolve();

  async function sleepIdle(): Promise<void> {
    const idleMs = (await deps.settings.pool()).idleSeconds * 1000;
    const since = now() - idleMs;
    for (const { id, usedAt } of await computers.idle(since)) {
      // It should have slept then, even if the sweep was late.
      await lifecycle.sleep(id, { idle: { since, until: usedAt + idleMs } });
    }
  }

  async function minute(): Promise<void> {
    const rows = await computers.there();
    // A deleted computer that still exists costs its machine as much as any other.
    if (rows.length === 0 && (await computers.left()).length === 0) return;
    const { changes } = await store.write((tx) => tx.run(claim, now(), now() - minuteLess), { isolation: 'statement' });
    if (changes === 0) return;
    // Runs first: a computer that is gone costs nothing more.
    await lifecycle.reconcile();
    const prices = await deps.prices();
    const running = rows.filter(({ phase }) => phase === 'running');
    for (const { id } of running) {
      await store.write(function* (tx) {
        const row = yield* computers.find(tx, id);
        if (row?.phase === 'running') yield* meters.minutes(tx, row, now(), prices);
      });
    }
    for (const projectId of new Set(running.map((row) => row.projectId))) await holdCap(projectId, running);
  }

  async function holdCap(projectId: string, running: readonly { readonly id: string; readonly projectId: string }[]) {
    const project = await deps.projects.get(projectId);
    const capCents = project?.spendCapCents ?? null;
    if (project === null || capCents === null) return;
    const spentCents = await store.read((tx) => capReached(tx, project, now()));
    if (spentCents === null) return;
    for (const { id, projectId: of } of running) {
      if (of === projectId) await lifecycle.sleep(id, { cap: { spentCents, capCents } });
    }
  }

  /** A replica that cannot reach the driver leaves the work, and the claim to it, to one that can. */
  async function look(): Promise<void> {
    const away = await deps.driver.away();
    if (away !== null) return tellAway(away);
    toldAway = null;
    await sleepIdle();
    await keepLinks();
    await minute();
  }

  /** Not awaited: one that does not answer must not keep the others from sleeping. */
  async function keepLinks(): Promise<void> {
    for (const row of await computers.there()) if (row.phase === 'running') void deps.ways.keep(row);
  }

  /** Logged once, and only if computers exist: without any, nobody misses a driver. */
  async function tellAway(fault: string): Promise<void> {
    if (toldAway === fault || (await computers.there()).length === 0) return;
    toldAway = fault;
    log.warn('The driver of hosted computers does not answer.', { fault });
  }

  async function begin(): Promise<void> {
    const away = await deps.driver.away();
    if (away !== null) return tellAway(away);
    await lifecycle.reconcile();
    await keepLinks();
  }

  function later(): void {
    if (closed) return;
    cancel = timers.after(lookMs, () => {
      under = look()
        .catch((fault: Error) => log.warn('Hosted computers could not be looked after.', { fault: fault.message }))
        .finally(later);
    });
  }

  let heard: Promise<void> = Promise.resolve();
  const hear = (message: string, work: () => Promise<void>, facts: Record<string, unknown> = {}) => {
    heard = heard.then(work).catch((fault: Error) => log.warn(message, { ...facts, fault: fault.message }));
  };
  // From now on: what came before is found by the comparison of the start.
  const stopHearing = deps.driver.watch(null, {
    changed({ computer, state, why, at }) {
      // Nothing else happens without this cloud, and what it does itself it knows.
      if (state !== 'gone' && (state !== 'stopped' || why === null)) return;
      const message = 'The end of a hosted computer could not be kept.';
      hear(message, () => lifecycle.check(computer, at), { computer });
    },
    missed: () => hear('Hosted computers could not be compared.', () => lifecycle.reconcile()),
  });

  return {
    start() {
      under = begin()
        .catch((fault: Error) => log.warn('Hosted computers could not be compared.', { fault: fault.message }))
        .finally(later);
    },
    async close() {
      closed = true;
      stopHearing();
      cancel();
      await under.catch(() => {});
      await heard;
    },
  };
}
