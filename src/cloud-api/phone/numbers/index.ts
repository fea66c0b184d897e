/**
 * Numbers: who has them, how they are bought and given up, the bots they are for, and their invites. Gives the other parts {@link Numbers}. Must not
 * know registrations, texts or calls.
 */
import { randomBytes } from 'node:crypto';
import type { PaidSteps } from '../carrier/paid-steps.ts';
import { CarrierFault } from '../carrier/port.ts';
import type { PartDeps, PhonePart } from '../part.ts';
import type { CarrierEvent, CarrierEventReader, Consents, InviteProofs, NumberHooks, Numbers } from '../ports.ts';
import { createAddresses } from './address.ts';
import { createCome } from './come.ts';
import { countFeesOfAll } from './fees.ts';
import { createInvitePage } from './invite-page.ts';
import { createInvites } from './invites.ts';
import { isLost, lostSays, type NumberRow, shown } from './model.ts';
import { createPortWork } from './port-work.ts';
import { createPurchase } from './purchase.ts';
import { createRelease } from './release.ts';
import { createResync } from './resync.ts';
import { createNumberRoutes } from './routes.ts';
import { createStay } from './stay.ts';
import { createNumberStore, type NumberStore } from './store.ts';
import { createWork, type Work, type WorkDeps } from './work.ts';

export { phoneNumberMigrations } from './migrations.ts';

interface NumbersPart extends PhonePart {
  readonly numbers: Numbers;
  readonly invites: InviteProofs;
}

/** A failed number is shown for this long, unless its person dismisses it. */
const failedRetentionMs = 7 * 24 * 60 * 60_000;

export function createNumbers(
  deps: PartDeps & {
    readonly steps: PaidSteps;
    /** From all other parts; called only when something happens. */
    readonly hooks: () => readonly NumberHooks[];
    readonly consents: () => Pick<Consents, 'record'>;
    /** The business that a number is registered for; null: none yet. */
    readonly brandOf: (numberId: string) => Promise<string | null>;
    /** Those of these numbers for which a registration was filed. */
    readonly registered: (numberIds: readonly string[]) => Promise<ReadonlySet<string>>;
    readonly random?: (bytes: number) => Buffer;
  },
): NumbersPart {
  const { store, clock, random = randomBytes } = deps;
  const rows = createNumberStore(store, () => clock.now());
  const { numbers } = rows;
  const resync = createResync(deps);
  const invites = createInvites({ ...deps, numbers, random });
  const ownHooks: NumberHooks = {
    *released(tx, { id }) {
      yield* invites.end(tx, id);
    },
  };
  const given: WorkDeps = {
    ...deps,
    rows,
    resync,
    addresses: createAddresses({ ...deps, random }),
    hooks: () => [ownHooks, ...deps.hooks()],
  };
  const work = createWork(given);
  const { begin } = work;
  const look = createDailyLook(given);
  const come = createCome({ ...given, work });
  const stay = createStay({ ...given, work, come });
  return {
    numbers,
    invites,
    owners: {
      phoneNumber: async ({ userId }, id) => {
        const row = await rows.get(id);
        return row !== null && row.userId === userId && (shown as readonly string[]).includes(row.phase);
      },
    },
    routes: createNumberRoutes({
      carrier: deps.carrier,
      rows,
      registered: deps.registered,
      come,
      stay,
      invites,
      page: createInvitePage({ ...deps, invites, numbers }),
    }),
    readers: createOrderReaders({ rows, work }),
    wake: (computerId) => resync.wake(computerId),
    async forgetOld(now) {
      await rows.forget(now - failedRetentionMs);
      await invites.forgetOld(now);
      await countFeesOfAll({ ...deps, rows });
      await look();
    },
    async start() {
      await resync.start();
      await work.start({
        buy: createPurchase({ ...given, begin }),
        port: createPortWork({ ...given, begin }),
        release: createRelease(given),
      });
    },
    async close() {
      await work.close();
      await resync.close();
    },
  };
}

/** The order of an event, by its id or by our reference. */
function ordersIn({ payload }: CarrierEvent): string[] {
  const { id, customer_reference: reference, order_id: order, number_order_id: numberOrder } = payload;
  return [reference, id, order, numberOrder].filter((each): each is string => typeof each === 'string' && each !== '');
}

/**
 * The carrier's reports about orders and ports. An event may be late, doubled or out of order, so it only makes waiting work read the carrier again.
 */
function createOrderReaders(deps: {
  readonly rows: Pick<NumberStore, 'byOrder'>;
  readonly work: Pick<Work, 'wake'>;
}): readonly CarrierEventReader[] {
  return ['number_order.', 'porting_order.'].map((prefix) => ({
    prefix,
    subject: (event) => `order ${ordersIn(event)[0] ?? event.id}`,
    async take(event) {
      for (const order of ordersIn(event)) {
        const row = await deps.rows.byOrder(order);
        if (row === null) continue;
        deps.work.wake(row.id);
        return;
      }
    },
  }));
}

/**
 * Once a day each number is looked up at the carrier: one that another carrier has taken away neither texts nor calls, and its person hears of it,
 * until the carrier has it again. Must not know who asks for it.
 */
function createDailyLook(deps: Pick<WorkDeps, 'store' | 'carrier' | 'rows' | 'resync' | 'log'>) {
  const { store, carrier, rows, resync, log } = deps;

  /** What to record for it; undefined: no change. */
  async function problemOf({ e164, problem }: NumberRow): Promise<string | null | undefined> {
    const found = await carrier.numbers.find(e164);
    const lost = found === null || isLost(found);
    if (lost === (problem === lostSays)) return undefined;
    return lost ? lostSays : null;
  }

  return async function look(): Promise<void> {
    for (const { id } of await rows.numbers.all()) {
      const row = await rows.get(id);
      if (row === null || row.phase !== 'held' || row.voiceState !== 'active') continue;
      let problem: string | null | undefined;
      try {
        problem = await problemOf(row);
      } catch (fault) {
        if (!(fault instanceof CarrierFault)) throw fault;
        // Tomorrow is soon enough, also for the others.
        log.warn('The carrier cannot say which numbers it has.', { fault: fault.message });
        return;
      }
      if (problem === undefined) continue;
      await store.write(function* (tx) {
        const now = yield* rows.read(tx, id);
        if (now === null || now.phase !== 'held') return;
        yield* rows.note(tx, id, { problem });
        yield* resync.tell(tx, now.runtimeId);
      });
    }
  };
}
