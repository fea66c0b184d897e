/**
 * How a local number is registered: the business first, its campaign as soon as the business is approved, then the number is linked to the campaign.
 * One action for each stage; each reads the carrier again and trusts no event.
 */

import { type Campaign, CarrierFault } from '../carrier/port.ts';
import { maskNumber } from '../e164.ts';
import { type Action, type Bench, openEin } from './bench.ts';
import type { Codes } from './codes.ts';
import type { Corrections } from './corrections.ts';
import { campaignPrices, feeOf } from './fees.ts';
import { brandOf, campaignOf } from './filing.ts';
import { isSoleProprietor } from './form.ts';
import type { Move, RegistrationRow, Stage } from './model.ts';
import { liesOutside, problemOf, problemsOfBrand, sentencesOf } from './refusal.ts';
import { repliesOf } from './replies.ts';
import type { Changes, NewStep } from './store.ts';

type Step = (row: RegistrationRow, move: Move, changes: Changes, step: NewStep) => Promise<boolean>;

export const mover =
  ({ store, registrations }: Pick<Bench, 'store' | 'registrations'>): Step =>
  async (row, move, changes, step) => {
    await store.write((tx) => registrations.move(tx, row.id, move, changes, step));
    // Whether this process or another one moved it: its stage has changed.
    return true;
  };

interface TenDlcDeps extends Bench {
  readonly corrections: Pick<Corrections, 'work' | 'tellBrand'>;
  readonly codes: Pick<Codes, 'sendFirst'>;
}

export function createTenDlc(deps: TenDlcDeps): Partial<Record<Stage, Action>> {
  const { corrections, codes } = deps;
  const step = mover(deps);
  const { fileBrand, watchBrand } = createBrandStages(deps);
  const { fileCampaign, watchCampaign, correct } = createCampaignStages(deps);
  const { join, watchNumber } = createNumberStages(deps);

  return {
    filed: fileBrand,
    async brand(row) {
      if (await watchBrand(row)) return true;
      if (!isSoleProprietor(row.form) || row.codeConfirmedAt !== null) return false;
      const text = `A code is being texted to ${maskNumber(row.form.mobilePhone ?? '')}. Enter it here; it is valid for a day.`;
      return step(row, 'codeAsked', {}, { step: 'code', state: 'working', text, field: 'mobilePhone' });
    },
    async code(row) {
      await codes.sendFirst(row);
      return watchBrand(row);
    },
    campaign: fileCampaign,
    review: watchCampaign,
    number: join,
    correcting: correct,
    // Once a day. While a correction is under way, the carriers' decisions on the campaign count for the correction.
    async approved(row) {
      if (await corrections.work(row)) return false;
      return (await watchCampaign(row)) || watchNumber(row);
    },
    blocked: async (row) => ((await corrections.work(row)) ? false : watchCampaign(row)),
  };
}

/** The business, as the carriers' registry knows it. */
function createBrandStages(deps: TenDlcDeps) {
  const { store, clock, registrations, paid, fees } = deps;
  const { registry } = deps.carrier;
  const step = mover(deps);
  return { fileBrand, watchBrand };

  async function fileBrand(row: RegistrationRow): Promise<boolean> {
    const brand = { ...brandOf(row.form, openEin(deps, row), deps.webhookUrl), key: row.brandKey };
    const { brandId } = await paid.run(`brand ${row.brandKey}`, {
      find: () => registry.findBrand(brand),
      act: () => registry.createBrand(brand),
    });
    await store.write(function* (tx) {
      yield* registrations.keep(tx, row.id, { brandId });
      // A sole proprietor pays only after the code was right.
      if (!isSoleProprietor(row.form)) yield* fees.brand(tx, feeOf(row), row.brandKey, clock.now());
    });
    const text = 'The business was filed; the carriers’ registry is reviewing it. That takes minutes, sometimes days.';
    return step(row, 'brandFiled', {}, { step: 'brand', state: 'working', text, field: null });
  }

  async function watchBrand(row: RegistrationRow): Promise<boolean> {
    const brand = await registry.readBrand(row.brandId ?? '');
    if (brand.state === 'cleared') {
      return step(
        row,
        'brandCleared',
        {},
        { step: 'brand', state: 'done', text: 'The business was verified.', field: null },
      );
    }
    if (brand.state === 'pending') return false;
    const problems = problemsOfBrand(brand.problems);
    const reason = sentencesOf(problems);
    const field = problems[0]?.field ?? null;
    return step(row, 'brandRefused', { reason, problems }, { step: 'brand', state: 'failed', text: reason, field });
  }
}

/** What its texts are for, as the carriers accept it. */
function createCampaignStages(deps: TenDlcDeps) {
  const { store, clock, registrations, paid, corrections, fees } = deps;
  const { registry } = deps.carrier;
  const step = mover(deps);
  const watchCampaign: Action = async (row) => judged(row, await registry.readCampaign(row.campaignId ?? ''));
  return { fileCampaign, watchCampaign, correct };

  function asked(row: RegistrationRow) {
    return campaignOf(
      row.form,
      { ...deps, number: { id: row.numberId, e164: row.e164 } },
      { brandId: row.brandId ?? '', key: row.campaignKey },
    );
  }

  async function fileCampaign(row: RegistrationRow): Promise<boolean> {
    if (await brandRefuses(row)) return true;
    // A shared one was filed by another number, perhaps so long ago that its step is forgotten.
    if (row.campaignId === null) {
      const { campaignId } = await paid.run(`campaign ${row.campaignKey}`, {
        find: () => registry.findCampaign({ brandId: row.brandId ?? '', key: row.campaignKey }),
        act: () => registry.createCampaign(asked(row)),
      });
      await store.write(function* (tx) {
        const campaignFiledAt = clock.now();
        yield* registrations.keep(tx, row.id, { campaignId, campaignFiledAt });
        const campaign = { key: row.campaignKey, ...campaignPrices(row.form) };
        yield* fees.campaign(tx, feeOf(row), campaign, campaignFiledAt, campaignFiledAt);
      });
    }
    const text = 'The campaign was filed; the carriers are reviewing it. That takes days, sometimes two weeks.';
    return step(row, 'campaignFiled', {}, { step: 'campaign', state: 'working', text, field: null });
  }

  async function judged(row: RegistrationRow, campaign: Campaign): Promise<boolean> {
    const { state } = campaign;
    const why = campaign.reason ?? 'The carriers did not say why.';
    if (state === 'approved') {
      if (row.stage !== 'review' && row.stage !== 'blocked') return false;
      const text = 'The carriers accepted the campaign.';
      return step(row, 'campaignAccepted', {}, { step: 'campaign', state: 'done', text, field: null });
    }
    if (state === 'failed') {
      const problem = problemOf(why);
      const changes = { reason: problem.text, problems: [problem] };
      return step(row, 'campaignRefused', changes, { step: 'campaign', state: 'failed', ...problem });
    }
    if (state === 'blocked') {
      if (row.stage === 'blocked') return false;
      const problem = problemOf(`The carriers suspended the campaign: ${why}`);
      const changes = { reason: problem.text, problems: [problem] };
      return step(row, 'blocked', changes, { step: 'campaign', state: 'failed', ...problem });
    }
    if (row.stage !== 'blocked') return false;
    const text = 'The carriers are reviewing the campaign again.';
    return step(row, 'unblocked', {}, { step: 'campaign', state: 'working', text, field: null });
  }

  /** A correction may concern the business, which goes first: its registry may refuse it. */
  async function brandRefuses(row: RegistrationRow): Promise<boolean> {
    const problems = await corrections.tellBrand(row, `brand ${row.brandKey} correction ${row.id} ${row.revision}`);
    if (problems.length === 0) return false;
    const reason = sentencesOf(problems);
    const field = problems[0]?.field ?? null;
    return step(row, 'campaignRefused', { reason, problems }, { step: 'brand', state: 'failed', text: reason, field });
  }

  /** In place: no new brand, no new campaign, no new fee. */
  async function correct(row: RegistrationRow): Promise<boolean> {
    if (await brandRefuses(row)) return true;
    const id = row.campaignId ?? '';
    const inReview = async () => {
      const campaign = await registry.readCampaign(id);
      return campaign.state === 'failed' ? null : campaign;
    };
    // By this number only: another one of the same campaign corrects it in its own words.
    const key = `campaign ${row.campaignKey} correction ${row.id} ${row.revision}`;
    await paid.run(key, { find: inReview, act: () => registry.correctCampaign(id, asked(row)) });
    const after = await registry.readCampaign(id);
    const appeals = after.state === 'failed' && liesOutside(after.reason ?? '');
    if (after.state === 'failed' && !appeals) return judged(row, after);
    if (appeals) {
      await paid.run(`${key} appeal`, {
        find: async () => ((await inReview()) === null ? null : true),
        act: async () => {
          await registry.appealCampaign(id, `Corrected since: ${after.reason ?? 'what was found'}. Please look again.`);
          return true;
        },
      });
    }
    const text = appeals
      ? 'The problem lies outside the campaign: the carriers were asked to review it again.'
      : 'The campaign was corrected and is under review again.';
    return step(row, 'campaignCorrected', {}, { step: 'campaign', state: 'working', text, field: null });
  }
}

/** The number's part in the campaign. */
function createNumberStages(deps: TenDlcDeps) {
  const { carrier, numbers } = deps;
  const { registry } = carrier;
  const step = mover(deps);
  return { join, watchNumber };

  async function join(row: RegistrationRow): Promise<boolean> {
    const number = await numbers.find(row.numberId);
    if (number === null) return false;
    if (number.profileId !== null) {
      await carrier.numbers.setAutoResponses(number.profileId, repliesOf(row, row.form));
    }
    const joined = () => {
      const text = 'The number is part of the campaign: it may send texts.';
      return step(row, 'numberJoined', {}, { step: 'number', state: 'done', text, field: null });
    };
    const is = await registry.readAssignment(row.e164);
    const isOurs = is.campaignId === null || is.campaignId === row.campaignId;
    if (is.state === 'assigned' && isOurs) return joined();
    if (is.state === 'pending' && isOurs) return false;
    const waits = row.waiting !== null && (row.retryAt ?? 0) > deps.clock.now();
    if (waits) return false;
    // After its wait it is tried again.
    if (is.state === 'failed' && isOurs && row.waiting === null) throw notJoined(is.reason);
    if (!isOurs) await registry.unassign(row.e164);
    const next = await registry.assign(row.e164, row.campaignId ?? '');
    if (next.state === 'failed') throw notJoined(next.reason);
    return next.state === 'assigned' ? joined() : false;
  }

  async function watchNumber(row: RegistrationRow): Promise<boolean> {
    const { state, reason } = await registry.readAssignment(row.e164);
    if (state !== 'none' && state !== 'failed') return false;
    const text = `The number is no longer part of the campaign${reason === null ? '' : `: ${reason}`}. It is being joined again.`;
    return step(row, 'numberParted', {}, { step: 'number', state: 'working', text, field: null });
  }
}

function notJoined(reason: string | null): CarrierFault {
  return new CarrierFault(
    'service',
    `The number could not be joined to the campaign: ${reason ?? 'no reason was given'}.`,
  );
}
