/**
 * The phone: numbers at a carrier, by which people text and call a person's bots. Without a carrier every route says so, and nothing else of the phone
 * is loaded. Must not know a carrier's wire.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { phoneRoutes } from '../../contracts/phone/routes.ts';
import { type BoundRoute, bindPassThrough, type OwnerLookups } from '../../kit/http/types.ts';
import type { Migration } from '../../kit/store/store.ts';
import { phoneCallMigrations } from './calls/migrations.ts';
import { phoneCarrierMigrations } from './carrier/migrations.ts';
import type { Carrier } from './carrier/port.ts';
import type { DemoControl } from './demo/index.ts';
import { phoneNumberMigrations } from './numbers/migrations.ts';
import type { PhoneDeps, PhonePart } from './part.ts';
import { phoneRegistrationMigrations } from './registration/migrations.ts';
import { phoneTextMigrations } from './texts/migrations.ts';
import { phoneWebhookMigrations } from './webhooks/migrations.ts';

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

export async function createPhone({
  carrier,
  ...deps
}: PhoneDeps & {
  /** Null: no carrier is configured. */
  readonly carrier: Carrier | null;
  /** Control of the simulated carrier; null: the carrier is real. */
  readonly demo: DemoControl | null;
}): Promise<Phone> {
  if (carrier === null) return together([{ routes: phoneRoutes.map(notConfigured) }]);
  // What is loaded stays in memory, and most installs have no carrier.
  const { createParts } = await import('./parts.ts');
  return together(createParts({ ...deps, carrier }));
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
