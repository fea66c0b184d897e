/**
 * Brings a correction of a registration to the carriers: the business once for all of its numbers, each changed campaign once, a toll-free number by
 * its request, then the replies. Each step can be repeated, so that the next process continues after a crash; if the carriers refuse, the previous
 * state is restored. The numbers stay active throughout. Must not know HTTP.
 */
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { BrandAsked, CampaignAsked } from '../carrier/port.ts';
import { CarrierFault } from '../carrier/port.ts';
import type { Bench } from './bench.ts';
import { type CorrectionMove, type CorrectionRow, formAfter, isOver, withBusinessOf } from './correction.ts';
import type { CorrectionStore } from './correction-store.ts';
import { withoutEins } from './ein.ts';
import { brandOf, campaignOf, tollFreeOf } from './filing.ts';
import type { CheckedForm, Problem } from './form.ts';
import type { RegistrationRow } from './model.ts';
import { problemOf, problemsOfBrand, problemsOfFault, sentencesOf } from './refusal.ts';
import { repliesOf } from './replies.ts';
import { textsOf } from './same.ts';

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

/** One campaign, filed in the words of one of its numbers. */
interface Filed {
  readonly campaignId: string;
  readonly before: CampaignAsked;
  readonly after: CampaignAsked;
}

/** The fields that an update of a campaign sends. */
const sent = ({ samples, messageFlow, helpMessage }: CampaignAsked) =>
  JSON.stringify([samples, messageFlow, helpMessage]);
const isSame = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);

const stepOf = ({ kind }: RegistrationRow, stage: 'brand' | 'campaign') =>
  kind === 'toll_free' ? ('verification' as const) : stage;

export function createCorrections(deps: Bench & { readonly corrections: CorrectionStore }): Corrections {
  const { store, clock, registrations, corrections, carrier, paid, numbers, log } = deps;
  const { registry } = carrier;

  /** Requests it once, and once more if nobody answered: repeating a finished update changes nothing. */
  const send = (key: string, act: () => Promise<unknown>) =>
    paid.run(key, {
      find: async () => null,
      act: async () => {
        await act();
        return true;
      },
    });

  const brandIn = (row: RegistrationRow, form: CheckedForm): BrandAsked => ({
    ...brandOf(form, null, deps.webhookUrl),
    key: row.brandKey,
  });
  const factsOf = (row: RegistrationRow) => ({ ...deps, number: { id: row.numberId, e164: row.e164 } });

  /** Registrations of current numbers of one business. */
  function* ofBusiness(tx: SharedReader, { userId, brandKey }: RegistrationRow): Op<readonly RegistrationRow[]> {
    const rows = yield* registrations.ofPerson(tx, userId);
    return rows.filter(
      (row) =>
        row.brandKey === brandKey && row.endedAt === null && row.feesEndedAt === null && row.stage !== 'brand_rejected',
    );
  }

  const isDecided = ({ stage }: RegistrationRow) => stage === 'approved' || stage === 'blocked';

  /** The campaigns with changed details, among numbers that text. One still in review is decided as it was filed. */
  async function campaignsOf(row: RegistrationRow, change: CorrectionRow): Promise<Filed[]> {
    const rows = (await store.read((tx) => ofBusiness(tx, row))).filter(isDecided);
    const ids = [...new Set(rows.map(({ campaignId }) => campaignId))].filter((id) => id !== null);
    return ids.flatMap((campaignId) => {
      const of = rows.filter((one) => one.campaignId === campaignId);
      const one =
        of.find(({ id }) => id === change.registrationId) ?? of.find((each) => each.id === each.campaignKey) ?? of[0];
      if (one === undefined) return [];
      const asked = (form: CheckedForm) =>
        campaignOf(form, factsOf(one), { brandId: one.brandId ?? '', key: one.campaignKey });
      const filed = { campaignId, before: asked(one.form), after: asked(formAfter(one, change)) };
      return sent(filed.before) === sent(filed.after) ? [] : [filed];
    });
  }

  const changesBrand = (row: RegistrationRow, { before, form }: CorrectionRow) =>
    row.kind === '10dlc' && !isSame(brandIn(row, before), brandIn(row, form));

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

  /** The carrier's own automatic answers to STOP, START and HELP. */
  async function setReplies(
    rows: readonly RegistrationRow[],
    formOf: (row: RegistrationRow) => CheckedForm,
  ): Promise<void> {
    for (const row of rows.filter(isDecided)) {
      const replies = repliesOf(row, formOf(row));
      if (isSame(replies, repliesOf(row, row.form))) continue;
      const number = await numbers.find(row.numberId);
      if (number === null || number.profileId === null) continue;
      await carrier.numbers.setAutoResponses(number.profileId, replies);
    }
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

  async function wait(change: CorrectionRow, fault: CarrierFault): Promise<void> {
    const { kind, code, retryAfter } = fault;
    log.warn('A correction waits for the carrier.', { correction: change.id, stage: change.stage, kind, code });
    const now = clock.now();
    const looks = kind === 'unknown' && (retryAfter !== null || change.waiting === null);
    const inMs = looks ? (retryAfter === null ? unansweredMs : (retryAfter + 1) * 1000) : retryMs;
    await store.write((tx) => corrections.wait(tx, change.id, withoutEins(fault.message), now + inMs));
  }

  async function refusedBy(row: RegistrationRow, change: CorrectionRow, fault: CarrierFault): Promise<boolean> {
    if (fault.kind !== 'details' && fault.kind !== 'content') return false;
    const problems = problemsOfFault(fault);
    if (change.stage === 'brand' || change.stage === 'verification') return refuse(row, change, problems, false);
    if (change.stage === 'campaign') return refuse(row, change, problems, true);
    if (change.stage !== 'restoring') return false;
    const also = `The carriers did not restore the old details either: ${withoutEins(fault.message)}`;
    return close(row, change, 'undone', { reason: `${change.reason ?? ''} ${also}`.trim(), problems: change.problems });
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
