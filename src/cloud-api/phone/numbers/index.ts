/**
 * Numbers: who has them, how they are bought and given up, the bots they are for, and their invites. Gives the other parts {@link Numbers}. Must not
 * know registrations, texts or calls.
 */
import { randomBytes } from 'node:crypto';
import type { PaidSteps } from '../carrier/paid-steps.ts';
import type { PartDeps, PhonePart } from '../part.ts';
import type { Consents, InviteProofs, NumberHooks, Numbers } from '../ports.ts';
import { createAddresses } from './address.ts';
import { createOrderReaders } from './carrier-events.ts';
import { createCome } from './come.ts';
import { createDailyLook } from './daily-look.ts';
import { countFeesOfAll } from './fees.ts';
import { createInvitePage } from './invite-page.ts';
import { createInvites } from './invites.ts';
import { shown } from './model.ts';
import { createPortWork } from './port-work.ts';
import { createPurchase } from './purchase.ts';
import { createRelease } from './release.ts';
import { createResync } from './resync.ts';
import { createNumberRoutes } from './routes.ts';
import { createStay } from './stay.ts';
import { createNumberStore } from './store.ts';
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
  // Begun only after everything is composed.
  const begin: Work['begin'] = (tx, row, job) => work.begin(tx, row, job);
  const work: Work = createWork(given, {
    buy: createPurchase({ ...given, begin }),
    port: createPortWork({ ...given, begin }),
    release: createRelease(given),
  });
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
      await work.start();
    },
    async close() {
      await work.close();
      await resync.close();
    },
  };
}
