/** The parts of the phone where there is a carrier, and how they are joined. Must not know a carrier's wire. */
import type { Op, SharedReader, SharedTx } from '../../kit/store/shared-store.ts';
import { createCalls } from './calls/index.ts';
import { createPaidSteps } from './carrier/paid-steps.ts';
import type { Carrier } from './carrier/port.ts';
import { createDemo, type DemoControl } from './demo/index.ts';
import { createFees } from './fees.ts';
import { createNumbers } from './numbers/index.ts';
import { numberLimits, type PartDeps, type PhoneDeps, type PhonePart } from './part.ts';
import { createPhoneRegistration } from './registration/index.ts';
import { createRegistrationStore, filedOf } from './registration/store.ts';
import { createTexts } from './texts/index.ts';
import { createWebhooks } from './webhooks/index.ts';

/** In the order in which they start; they close in reverse. */
export function createParts({
  demo,
  recordUsage,
  ...given
}: PhoneDeps & {
  readonly carrier: Carrier;
  /** Control of the simulated carrier; null: the carrier is real. */
  readonly demo: DemoControl | null;
}): readonly PhonePart[] {
  const deps: PartDeps = { ...given, fees: createFees(recordUsage) };
  const steps = createPaidSteps(deps);
  const numbers = createNumbers({
    ...deps,
    steps,
    hooks: () => parts.flatMap((part) => (part.hooks === undefined ? [] : [part.hooks])),
    consents,
    brandOf: (numberId) => deps.store.read((tx) => brandOf(tx, numberId)),
    registered: (numberIds) => filedOf(deps.store, numberIds),
  });
  const registration = createPhoneRegistration({ ...deps, numbers: numbers.numbers, paid: steps });
  const texts = createTexts({
    ...deps,
    steps,
    numbers: numbers.numbers,
    invites: numbers.invites,
    consents: { basisFor: (tx, numberId, e164) => consents().basisFor(tx, numberId, e164) },
    onStop: [onStop],
    replies: (number) => deps.store.read((tx) => registration.replies(tx, number)),
    *limits(tx, { id }) {
      const { standard, soleProprietor } = deps.textLimits ?? numberLimits;
      return (yield* registration.isSoleProprietor(tx, id)) ? soleProprietor : standard;
    },
  });
  const registrations = createRegistrationStore({ ...deps, now: () => deps.clock.now(), numbers: numbers.numbers });
  const calls = createCalls({
    ...deps,
    steps,
    numbers: numbers.numbers,
    invites: numbers.invites,
    optOuts: texts.optOuts,
    ownPhone: texts.ownPhone,
    ...(deps.callLimits === undefined ? {} : { limits: deps.callLimits }),
    brandOf,
  });
  // Calls need the texts, and so are made after them; numbers and texts ask them only when something happens.
  function consents() {
    return calls.consents;
  }
  function onStop(tx: SharedTx, numberId: string, e164: string): Op<void> {
    return calls.onStop(tx, numberId, e164);
  }
  function* brandOf(tx: SharedReader, numberId: string): Op<string | null> {
    const form = (yield* registrations.current(tx, numberId))?.form;
    return form?.brandName ?? form?.legalName ?? null;
  }
  // Steps begun long ago belong to nobody.
  const paid: PhonePart = { routes: [], forgetOld: (now) => steps.forgetOld(now) };
  const parts: readonly PhonePart[] = [paid, numbers, registration, texts, calls];
  // Last: posts go only to parts that have started.
  const readers = parts.flatMap((part) => part.readers ?? []);
  return [...parts, createWebhooks({ ...deps, numbers: numbers.numbers, readers }), createDemo({ control: demo })];
}
