/**
 * Brings a correction of a registration to the carriers: the business once for all of its numbers, each changed campaign once, a toll-free number by
 * its request, then the replies. Each step can be repeated, so that the next process continues after a crash; if the carriers refuse, the previous
 * state is restored. The numbers stay active throughout. Must not know HTTP.
 */
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import { CarrierFault } from '../carrier/port.ts';
import type { Bench } from './bench.ts';
import { type CorrectionRow, isOver, withBusinessOf } from './correction.ts';
import { createCorrectionAsks, isDecided } from './correction-asks.ts';
import { createCorrectionSteps } from './correction-steps.ts';
import type { CorrectionStore } from './correction-store.ts';
import { withoutEins } from './ein.ts';
import type { Problem } from './form.ts';
import type { RegistrationRow } from './model.ts';
import { problemsOfBrand } from './refusal.ts';

/** The wait between attempts while the fault is not the person's. */
export const retryMs = 30 * 60_000;
/** An unanswered request is looked up once before it counts as an outage: the carrier may have done it. */
export const unansweredMs = 25_000;

export interface Corrections {
  /** Null: no correction of this registration's business is under way. */
  openOf(row: Pick<RegistrationRow, 'brandKey'>): Promise<CorrectionRow | null>;
  /**
   * Continues the correction that this registration leads. False: its business has no correction, so the carriers' decisions concern the registration
   * itself.
   */
  work(row: RegistrationRow): Promise<boolean>;
  /** In the transaction in which the number of a registration goes: another number of the business takes over the correction. */
  handOver(tx: SharedTx, numberId: string): Op<void>;
  /** Updates the business of a rejected campaign at the registry. Throws the carrier's faults. */
  tellBrand(row: RegistrationRow, key: string): Promise<readonly Problem[]>;
}

export function createCorrections(deps: Bench & { readonly corrections: CorrectionStore }): Corrections {
  const { store, clock, registrations, corrections, log } = deps;
  const { registry } = deps.carrier;
  const asks = createCorrectionAsks(deps);
  const { send, brandIn, ofBusiness, setReplies } = asks;
  const { actions, refusedBy } = createCorrectionSteps({ ...deps, asks });

  async function wait(change: CorrectionRow, fault: CarrierFault): Promise<void> {
    const { kind, code, retryAfter } = fault;
    log.warn('A correction waits for the carrier.', { correction: change.id, stage: change.stage, kind, code });
    const now = clock.now();
    const looks = kind === 'unknown' && (retryAfter !== null || change.waiting === null);
    const inMs = looks ? (retryAfter === null ? unansweredMs : (retryAfter + 1) * 1000) : retryMs;
    await store.write((tx) => corrections.wait(tx, change.id, withoutEins(fault.message), now + inMs));
  }

  const openOf = ({ brandKey }: Pick<RegistrationRow, 'brandKey'>) =>
    store.read((tx) => corrections.open(tx, brandKey));

  async function workOn(row: RegistrationRow): Promise<void> {
    while (true) {
      const change = await openOf(row);
      if (change === null || change.registrationId !== row.id || isOver(change.stage)) return;
      if (change.retryAt !== null && change.retryAt > clock.now()) return;
      try {
        if (!(await actions[change.stage as keyof typeof actions](row, change))) return;
      } catch (fault) {
        if (!(fault instanceof CarrierFault)) throw fault;
        if (!(await refusedBy(row, change, fault))) return wait(change, fault);
      }
    }
  }

  return {
    openOf,
    async work(row) {
      if ((await openOf(row)) === null) return false;
      await workOn(row);
      return true;
    },
    *handOver(tx, numberId) {
      for (const row of yield* registrations.ofNumber(tx, numberId)) {
        const change = yield* corrections.open(tx, row.brandKey);
        if (change?.registrationId !== row.id) continue;
        const next = (yield* ofBusiness(tx, row)).find((one) => one.id !== row.id && isDecided(one)) ?? null;
        yield* corrections.handOver(tx, change.id, next?.id ?? null);
        if (next !== null) yield* registrations.keep(tx, next.id, { lookAt: clock.now() });
      }
    },
    async tellBrand(row, key) {
      if (row.brandAsked === 0) return [];
      await send(`${key} brand`, () => registry.correctBrand(row.brandId ?? '', brandIn(row, row.form)));
      const brand = await registry.readBrand(row.brandId ?? '');
      if (brand.state === 'failed') return problemsOfBrand(brand.problems);
      if (brand.state === 'pending') {
        throw new CarrierFault('service', 'The carriers’ registry is reviewing the business again.');
      }
      const others = (await store.read((tx) => ofBusiness(tx, row))).filter(({ id }) => id !== row.id);
      const formOf = (one: RegistrationRow) => withBusinessOf(one.form, row.form);
      await setReplies(others, formOf);
      await store.write(function* (tx) {
        yield* registrations.keep(tx, row.id, { brandAsked: 0 });
        for (const one of yield* ofBusiness(tx, row)) {
          if (one.id !== row.id) yield* registrations.keep(tx, one.id, { form: formOf(one) });
        }
      });
      return [];
    },
  };
}
