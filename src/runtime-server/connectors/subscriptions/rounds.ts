/**
 * The loop that runs every 60 s: refreshes what is due, retries what failed and may work again, sends owed removals to the cloud,
 * and ends subscriptions of connectors that are gone. Between rounds it acts on what connectors report: a sign-in that was lost
 * or restored. Must not know HTTP.
 */
import type { SubscriptionReason } from '../../../contracts/connectors/subscription.ts';
import { pause } from '../../../kit/clock/timers.ts';
import type { ConnectorRef } from '../ports.ts';
import type { Definitions } from './definitions.ts';
import type { SubscriptionDeps } from './deps.ts';
import type { Ending } from './ending.ts';
import type { Enrolment } from './enrol.ts';
import type { OneAtATime } from './one-at-a-time.ts';
import type { Removals } from './removals.ts';
import { allRows, findRow, moveRow, noError, rowsOf, type SubscriptionRow } from './rows.ts';
import { isDue, isTransient } from './states.ts';
import { sweepTrail } from './trail.ts';

interface Rounds {
  /** Begins the loop with a round at once, which it does not wait for. Call it once the connectors are loaded. */
  start(): void;
  /** One round now; with one under way, another after it. */
  now(): Promise<void>;
  close(): Promise<void>;
}

const everyMs = 60_000;
/** One subscription's failure of this kind repeats for all others of its connector: they wait for the next round. */
const shared: ReadonlySet<SubscriptionReason> = new Set([
  'connector_unreachable',
  'connector_timeout',
  'cloud_unreachable',
  'not_paired',
]);

export function createRounds(
  deps: Pick<SubscriptionDeps, 'store' | 'clock' | 'timers' | 'log' | 'servers' | 'home'> & {
    readonly definitions: Definitions;
    readonly enrolment: Enrolment;
    readonly ending: Ending;
    readonly removals: Removals;
    readonly inTurn: OneAtATime;
    readonly closing: AbortSignal;
  },
): Rounds {
  const { store, clock, servers, home, log, inTurn, enrolment, removals, closing } = deps;
  let running: Promise<void> | null = null;
  let again = false;
  /** Reports of connectors that are being handled. */
  const following = new Set<Promise<void>>();

  function now(): Promise<void> {
    if (running !== null) {
      again = true;
      return running;
    }
    running = (async () => {
      do {
        again = false;
        await round();
      } while (again && !closing.aborted);
    })()
      .catch((fault: unknown) => log.error('A check of the subscriptions failed.', { fault }))
      .finally(() => {
        running = null;
      });
    return running;
  }

  async function round(): Promise<void> {
    const rows = await store.read(allRows);
    const byConnector = new Map<string, SubscriptionRow[]>();
    for (const row of rows) byConnector.set(row.connector_id, [...(byConnector.get(row.connector_id) ?? []), row]);
    await Promise.all([removals.send(closing), ...[...byConnector.values()].map(ofConnector)]);
    await removals.send(closing);
    while (await store.write((tx) => sweepTrail(tx, clock.now())));
  }

  async function ofConnector(rows: readonly SubscriptionRow[]): Promise<void> {
    // The last failure is tried last: one that always fails does not delay the others.
    for (const { id } of [...rows].sort((a, b) => a.updated_at - b.updated_at)) {
      if (closing.aborted) return;
      const fault = await inTurn(id, async () => {
        const row = await store.read((tx) => findRow(tx, id));
        if (row === undefined) return null;
        if (!isThere(servers.find(row.connector_id), row)) {
          await deps.ending.end(row);
          return null;
        }
        return isAsked(row) ? begin(row) : null;
      });
      if (fault !== null && shared.has(fault.reason)) return;
    }
  }

  function isAsked(row: SubscriptionRow): boolean {
    if (row.status === 'pending') return true;
    if (row.status === 'error') return row.error_reason !== null && isTransient(row.error_reason);
    if (row.status === 'needs_reauth') return false;
    if (row.home !== home.name()) return true;
    const { refreshed_at: refreshedAt, refresh_before: refreshBefore } = row;
    return refreshedAt !== null && refreshBefore !== null && isDue({ refreshedAt, refreshBefore }, clock.now());
  }

  async function begin(row: SubscriptionRow) {
    // The current home does not know it: until it does, no event comes.
    if (row.status === 'active' && row.home !== home.name()) {
      await store.write((tx) => moveRow(tx, row.id, 'pending', {}, clock.now()));
    }
    const still = await store.read((tx) => findRow(tx, row.id));
    return still === undefined ? null : enrolment.enrol(still, { secrecy: 'rotate', by: 'loop' });
  }

  function follow(work: () => Promise<void>): void {
    const mine = work()
      .catch((fault: unknown) => log.error('A subscription could not follow its connector.', { fault }))
      .finally(() => following.delete(mine));
    following.add(mine);
  }

  async function each(connectorId: string, work: (row: SubscriptionRow) => Promise<void>): Promise<void> {
    deps.definitions.forget(connectorId);
    for (const { id } of await store.read((tx) => rowsOf(tx, connectorId))) {
      if (closing.aborted) return;
      await inTurn(id, async () => {
        const row = await store.read((tx) => findRow(tx, id));
        if (row !== undefined) await work(row);
      });
    }
  }

  async function lost(connectorId: string): Promise<void> {
    const ended: SubscriptionRow[] = [];
    await each(connectorId, async (row) => {
      if (row.status === 'needs_reauth') return;
      await enrolment.loseSignIn(row.id, 'The connector is no longer signed in. Sign in again.', null, true);
      ended.push(row);
    });
    await removals.send(closing);
    // Last: a server that hangs must not keep the others from being stopped. Skips one that was restarted in between.
    for (const row of ended) {
      await inTurn(row.id, async () => {
        const now = await store.read((tx) => findRow(tx, row.id));
        if (now?.status === 'needs_reauth') await enrolment.unsubscribe(row);
      });
    }
  }

  const back = (connectorId: string) =>
    each(connectorId, async (row) => {
      if (row.status !== 'needs_reauth') return;
      await store.write((tx) => moveRow(tx, row.id, 'pending', noError, clock.now()));
      const pending = await store.read((tx) => findRow(tx, row.id));
      if (pending !== undefined) await enrolment.enrol(pending, { secrecy: 'rotate', by: 'loop' });
    });

  async function gone({ id, url }: ConnectorRef): Promise<void> {
    // At its new address there may be others by now.
    await each(id, async (row) => (row.connector_url === url ? deps.ending.end(row) : undefined));
    await removals.send(closing);
  }

  const listening = [
    servers.onLost((id) => follow(() => lost(id))),
    servers.onBack((id) => follow(() => back(id))),
    servers.onGone((ref) => follow(() => gone(ref))),
  ];

  async function loop(): Promise<void> {
    while (!closing.aborted) {
      await now();
      await pause(deps.timers, everyMs, closing);
    }
  }

  return {
    start() {
      follow(loop);
    },
    now,
    async close() {
      for (const stop of listening) stop();
      await Promise.allSettled([...following, running]);
    },
  };
}

/** Another address is another identity: subscriptions derived from the earlier one end. */
function isThere(connector: ConnectorRef | null, row: SubscriptionRow): boolean {
  return connector?.enabled === true && connector.url === row.connector_url;
}
