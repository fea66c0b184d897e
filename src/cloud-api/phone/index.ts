/**
 * The phone: numbers at a carrier, by which people text and call a person's bots. Composes its parts; without a carrier every route says so. Must not
 * know a carrier's wire.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { phoneRoutes } from '../../contracts/phone/routes.ts';
import { type BoundRoute, bindPassThrough, type OwnerLookups } from '../../kit/http/types.ts';
import type { Op, SharedReader } from '../../kit/store/shared-store.ts';
import type { Migration } from '../../kit/store/store.ts';
import { createCalls, phoneCallMigrations } from './calls/index.ts';
import { phoneCarrierMigrations } from './carrier/migrations.ts';
import { createPaidSteps } from './carrier/paid-steps.ts';
import type { Carrier } from './carrier/port.ts';
import { createDemo, type DemoDoor } from './demo/index.ts';
import { createFees } from './fees.ts';
import { createNumbers, phoneNumberMigrations } from './numbers/index.ts';
import type { PartDeps, PhoneDeps, PhonePart } from './part.ts';
import { createPhoneRegistration, phoneRegistrationMigrations } from './registration/index.ts';
import { createRegistrationStore } from './registration/store.ts';
import { createTexts, numberLimits, phoneTextMigrations } from './texts/index.ts';
import { createWebhooks, phoneWebhookMigrations } from './webhooks/index.ts';

export type { PhoneDeps } from './part.ts';

/** Each part's own. */
export const phoneMigrations: readonly Migration[] = [
  ...phoneCarrierMigrations,
  ...phoneNumberMigrations,
  ...phoneRegistrationMigrations,
  ...phoneTextMigrations,
  ...phoneCallMigrations,
  ...phoneWebhookMigrations,
];

export interface Phone {
  readonly routes: readonly BoundRoute[];
  readonly owners: OwnerLookups;
  wake(computerId: string): void;
  pairingEnded(computerId: string): Promise<void>;
  forgetOld(now: number): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createPhone({
  carrier,
  demo,
  recordUsage,
  ...deps
}: PhoneDeps & {
  /** Null: no carrier is configured. */
  readonly carrier: Carrier | null;
  /** Control of the simulated carrier; null: the carrier is real. */
  readonly demo: DemoDoor | null;
}): Phone {
  if (carrier === null) return together([{ routes: phoneRoutes.map(notConfigured) }]);
  const fees = createFees(recordUsage);
  return together([...createParts({ ...deps, carrier, fees }), createDemo({ door: demo })]);
}

/** In the order in which they start; they close in reverse. */
function createParts(deps: PartDeps): readonly PhonePart[] {
  const steps = createPaidSteps(deps);
  const numbers = createNumbers({
    ...{ ...deps, steps },
    hooks: () => parts.flatMap((part) => (part.hooks === undefined ? [] : [part.hooks])),
    consents: () => calls.consents,
    brandOf: (numberId) => deps.store.read((tx) => brandOf(tx, numberId)),
    registered: (numberIds) => registrations.filed(numberIds),
  });
  const registration = createPhoneRegistration({ ...deps, numbers: numbers.numbers, paid: steps });
  const texts = createTexts({
    ...{ ...deps, steps, numbers: numbers.numbers, invites: numbers.invites },
    consents: { basisFor: (tx, numberId, e164) => calls.consents.basisFor(tx, numberId, e164) },
    onStop: [(tx, numberId, e164) => calls.onStop(tx, numberId, e164)],
    replies: (number) => deps.store.read((tx) => registration.replies(tx, number)),
    *limits(tx, { id }) {
      const { usual, soleProprietor } = deps.textLimits ?? numberLimits;
      return (yield* registration.isSoleProprietor(tx, id)) ? soleProprietor : usual;
    },
  });
  const registrations = createRegistrationStore({ ...deps, now: () => deps.clock.now(), numbers: numbers.numbers });
  const calls = createCalls({
    ...{ ...deps, steps, numbers: numbers.numbers, invites: numbers.invites },
    ...{ optOuts: texts.optOuts, ownPhone: texts.ownPhone },
    ...(deps.callLimits === undefined ? {} : { limits: deps.callLimits }),
    brandOf,
  });
  function* brandOf(tx: SharedReader, numberId: string): Op<string | null> {
    const form = (yield* registrations.current(tx, numberId))?.form;
    return form?.brandName ?? form?.legalName ?? null;
  }
  // Steps begun long ago belong to nobody.
  const paid: PhonePart = { routes: [], forgetOld: (now) => steps.forgetOld(now) };
  const parts: readonly PhonePart[] = [paid, numbers, registration, texts, calls];
  // Last: posts go only to parts that have started.
  const readers = parts.flatMap((part) => part.readers ?? []);
  return [...parts, createWebhooks({ ...deps, numbers: numbers.numbers, readers })];
}

function together(parts: readonly PhonePart[]): Phone {
  return {
    routes: parts.flatMap(({ routes }) => routes),
    owners: Object.assign({}, ...parts.map(({ owners }) => owners)),
    wake(computerId) {
      for (const part of parts) part.wake?.(computerId);
    },
    async pairingEnded(computerId) {
      for (const part of parts) await part.pairingEnded?.(computerId);
    },
    async forgetOld(now) {
      // An error of one does not keep the next from closing.
      const all = await Promise.allSettled(parts.map((part) => part.forgetOld?.(now)));
      const faults = all.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      if (faults.length > 0) throw new AggregateError(faults, faults.map(String).join(' '));
    },
    async start() {
      for (const part of parts) await part.start?.();
    },
    async close() {
      for (const part of parts.toReversed()) await part.close?.();
    },
  };
}

/** Without a carrier, every route gives exactly this response, and only after it has authenticated the caller. */
function notConfigured(route: BoundRoute['route']): BoundRoute {
  return bindPassThrough(route, () => {
    throw new AppError(
      'refused',
      'No carrier is configured here.',
      'Set GANTRY_TELNYX_API_KEY and the settings that go with it.',
      {
        wireCode: 'phone_not_configured',
        codeAlone: true,
      },
    );
  });
}
