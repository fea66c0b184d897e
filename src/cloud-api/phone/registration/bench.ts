/** The dependencies that each file of this part uses. */
import type { PaidSteps } from '../carrier/paid-steps.ts';
import type { PartDeps } from '../part.ts';
import type { Numbers } from '../ports.ts';
import type { RegistrationRow } from './model.ts';
import type { RegistrationStore } from './store.ts';

export interface RegistrationDeps
  extends Pick<
    PartDeps,
    'store' | 'clock' | 'timers' | 'ids' | 'log' | 'sealer' | 'origin' | 'webhookOrigin' | 'carrier' | 'fees'
  > {
  readonly numbers: Pick<Numbers, 'find' | 'read' | 'setSmsState'>;
  readonly paid: Pick<PaidSteps, 'run'>;
}

export interface Bench extends RegistrationDeps {
  readonly registrations: RegistrationStore;
  /** See {@link import('./preflight.ts').PreflightFacts}. */
  readonly hosted: boolean;
  /** Address to which the carrier posts changes. */
  readonly webhookUrl: string;
}

/** Moves a registration on from its stage. True: it moved, look again. Throws the carrier's faults. */
export type Action = (row: RegistrationRow) => Promise<boolean>;

export const einPlace = (registrationId: string) => `phone_registration|ein|${registrationId}`;

/** The full EIN; null if it was wiped or never given. */
export function openEin({ sealer }: Pick<Bench, 'sealer'>, row: Pick<RegistrationRow, 'id' | 'ein'>): string | null {
  return row.ein === null ? null : sealer.open(einPlace(row.id), row.ein);
}
