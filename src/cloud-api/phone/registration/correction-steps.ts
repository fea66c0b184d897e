/**
 * The steps of a correction: the business, its campaigns, a toll-free number, the replies, and the way back where the carriers refuse. Each returns
 * whether the correction has moved. Must not know when a step is tried again.
 */
import type { CarrierFault } from '../carrier/port.ts';
import type { Bench } from './bench.ts';
import { type CorrectionMove, type CorrectionRow, formAfter } from './correction.ts';
import { type CorrectionAsks, isSame } from './correction-asks.ts';
import type { CorrectionStore } from './correction-store.ts';
import { withoutEins } from './ein.ts';
import { tollFreeOf } from './filing.ts';
import type { CheckedForm, Problem } from './form.ts';
import type { RegistrationRow } from './model.ts';
import { problemOf, problemsOfBrand, problemsOfFault, sentencesOf } from './refusal.ts';
import { textsOf } from './same.ts';

const stepOf = ({ kind }: RegistrationRow, stage: 'brand' | 'campaign') =>
  kind === 'toll_free' ? ('verification' as const) : stage;

/** How a step leaves a correction: moved on, refused, or over. */
function createOutcomes({
  store,
  registrations,
  corrections,
}: Pick<Bench, 'store' | 'registrations'> & { readonly corrections: CorrectionStore }) {
  async function move(
    change: CorrectionRow,
    name: CorrectionMove,
    why?: { reason: string; problems: readonly Problem[] },
  ) {
    await store.write((tx) => corrections.move(tx, change.id, name, why));
    return true;
  }

  /** Records the refusal. If nothing was sent yet, nothing needs restoring. */
  async function refuse(row: RegistrationRow, change: CorrectionRow, problems: readonly Problem[], sentAny: boolean) {
    const why = { reason: sentencesOf(problems), problems };
    if (sentAny) return move(change, 'undoing', why);
    return close(row, change, 'refused', why);
  }

  async function close(
    row: RegistrationRow,
    change: CorrectionRow,
    name: 'refused' | 'undone',
    why: { reason: string; problems: readonly Problem[] },
  ): Promise<boolean> {
    await store.write(function* (tx) {
      if ((yield* corrections.move(tx, change.id, name, why)) === null) return;
      const text = `The correction was refused, and the old registration still holds: ${why.reason}`;
      const step = {
        step: stepOf(row, 'brand'),
        state: 'failed',
        text,
        field: why.problems[0]?.field ?? null,
      } as const;
      yield* registrations.note(tx, row, step);
    });
    return true;
  }

  return { move, refuse, close };
}

export function createCorrectionSteps(
  deps: Pick<Bench, 'store' | 'registrations' | 'carrier'> & {
    readonly corrections: CorrectionStore;
    readonly asks: CorrectionAsks;
  },
) {
  const { store, registrations, corrections } = deps;
  const { registry } = deps.carrier;
  const { move, refuse, close } = createOutcomes(deps);
  const { send, brandIn, factsOf, ofBusiness, campaignsOf, changesBrand, setReplies } = deps.asks;

  async function tellRegistry(row: RegistrationRow, change: CorrectionRow): Promise<boolean> {
    if (changesBrand(row, change)) {
      await send(`correction ${change.id} brand`, () =>
        registry.correctBrand(row.brandId ?? '', brandIn(row, change.form)),
      );
      const brand = await registry.readBrand(row.brandId ?? '');
      if (brand.state === 'pending') return false;
      if (brand.state === 'failed') return refuse(row, change, problemsOfBrand(brand.problems), true);
    }
    return move(change, 'brandTaken');
  }

  async function tellCampaigns(row: RegistrationRow, change: CorrectionRow): Promise<boolean> {
    let waits = false;
    for (const { campaignId, after } of await campaignsOf(row, change)) {
      const key = `correction ${change.id} campaign ${campaignId}`;
      await send(key, () => registry.correctCampaign(campaignId, after));
      const { state, reason } = await registry.readCampaign(campaignId);
      if (state === 'failed') {
        return refuse(row, change, [problemOf(reason ?? 'The carriers did not say why.')], true);
      }
      waits ||= state === 'pending';
    }
    return waits ? false : move(change, 'textsTaken');
  }

  async function tellVerification(row: RegistrationRow, change: CorrectionRow): Promise<boolean> {
    const asked = (form: CheckedForm) => ({ ...tollFreeOf(form, '', factsOf(row)), ein: null });
    const id = row.requestId ?? '';
    if (!isSame(asked(change.before), asked(change.form))) {
      await send(`correction ${change.id} verification`, () => registry.correctTollFree(id, asked(change.form)));
      const { state, reason } = await registry.readTollFree(id);
      if (state === 'pending') return false;
      if (state === 'rejected') {
        return refuse(row, change, [problemOf(reason ?? 'The carriers did not say why.')], true);
      }
    }
    return move(change, 'textsTaken');
  }

  async function take(row: RegistrationRow, change: CorrectionRow): Promise<boolean> {
    await setReplies(await store.read((tx) => ofBusiness(tx, row)), (one) => formAfter(one, change));
    const text = `The carriers accepted the correction (${change.fields.join(', ')}).`;
    await store.write(function* (tx) {
      if ((yield* corrections.move(tx, change.id, 'repliesSet')) === null) return;
      for (const one of yield* ofBusiness(tx, row)) {
        const form = formAfter(one, change);
        if (isSame(form, one.form)) continue;
        yield* registrations.keep(tx, one.id, { form, texts: textsOf(form) });
        yield* registrations.note(tx, one, { step: stepOf(one, 'brand'), state: 'done', text, field: null });
      }
    });
    return true;
  }

  /** Sends the previous state again wherever a change was accepted. */
  async function restore(row: RegistrationRow, change: CorrectionRow): Promise<boolean> {
    const { before, id } = change;
    if (row.kind === 'toll_free') {
      const asked = { ...tollFreeOf(before, '', factsOf(row)), ein: null };
      await send(`correction ${id} verification back`, () => registry.correctTollFree(row.requestId ?? '', asked));
    }
    if (changesBrand(row, change)) {
      await send(`correction ${id} brand back`, () => registry.correctBrand(row.brandId ?? '', brandIn(row, before)));
    }
    if (row.kind === '10dlc') {
      for (const { campaignId, before: filed } of await campaignsOf(row, change)) {
        await send(`correction ${id} campaign ${campaignId} back`, () => registry.correctCampaign(campaignId, filed));
      }
    }
    return close(row, change, 'undone', { reason: change.reason ?? '', problems: change.problems });
  }

  const actions = {
    brand: tellRegistry,
    campaign: tellCampaigns,
    verification: tellVerification,
    replies: take,
    restoring: restore,
  } as const;

  async function refusedBy(row: RegistrationRow, change: CorrectionRow, fault: CarrierFault): Promise<boolean> {
    if (fault.kind !== 'details' && fault.kind !== 'content') return false;
    const problems = problemsOfFault(fault);
    if (change.stage === 'brand' || change.stage === 'verification') return refuse(row, change, problems, false);
    if (change.stage === 'campaign') return refuse(row, change, problems, true);
    if (change.stage !== 'restoring') return false;
    const also = `The carriers did not restore the old details either: ${withoutEins(fault.message)}`;
    return close(row, change, 'undone', { reason: `${change.reason ?? ''} ${also}`.trim(), problems: change.problems });
  }

  return { actions, refusedBy };
}
