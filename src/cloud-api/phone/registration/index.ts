/**
 * Registrations: the data that carriers require of a business that texts. Owns the form, its review, and the page that shows how people opt in; sets
 * the `smsState` of numbers. Must not know texts or calls.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import {
  confirmRegistration,
  getRegistration,
  optInPage,
  type Registration,
  submitRegistration,
} from '../../../contracts/phone/registration.ts';
import { pause } from '../../../kit/clock/timers.ts';
import { pageHeaders } from '../../../kit/http/plain-page.ts';
import { bind } from '../../../kit/http/types.ts';
import type { Op, SharedReader } from '../../../kit/store/shared-store.ts';
import { CarrierFault } from '../carrier/port.ts';
import type { PhonePart } from '../part.ts';
import type { HeldNumber } from '../ports.ts';
import { createAdvance } from './advance.ts';
import type { Bench, RegistrationDeps } from './bench.ts';
import { createCodes } from './codes.ts';
import { correctableIn, isPassed, toCorrection } from './correction.ts';
import { createCorrectionStore } from './correction-store.ts';
import { createCorrections } from './corrections.ts';
import { createEnding } from './ending.ts';
import { createReaders } from './events.ts';
import { campaignPrices, feeOf } from './fees.ts';
import { isSoleProprietor } from './form.ts';
import { type RegistrationRow, stateOf, toRegistration, underReview } from './model.ts';
import { noSuchPage, optInPageOf } from './page.ts';
import { type Replies, repliesOf } from './replies.ts';
import { createRegistrationStore } from './store.ts';
import { createSubmit } from './submit.ts';
import { createTenDlc } from './ten-dlc.ts';
import { createTollFree } from './toll-free.ts';
import { createWatch } from './watch.ts';

export { phoneRegistrationMigrations } from './migrations.ts';

interface PhoneRegistration extends PhonePart {
  /** The number's answers to STOP, START and HELP, as filed with the carriers. */
  replies(tx: SharedReader, number: Pick<HeldNumber, 'id' | 'e164'>): Op<Replies>;
  /** Whether it is a sole proprietor's: carriers limit those to fewer texts. */
  isSoleProprietor(tx: SharedReader, numberId: string): Op<boolean>;
}

/** A response waits this long for the carrier, then reports the state reached. */
const answerMs = 5_000;
/** Shutdown waits this long for the work under way. */
const graceMs = 2_000;
/** A pending one is read from the carrier at most this often, however many ask. */
const readEveryMs = 3_000;

const isPublic = (address: string) => address.startsWith('https://');
/** A code is valid for a day; registrations that still wait for one say that it was sent. */
const codeRetentionMs = 7 * 24 * 60 * 60_000;

export function createPhoneRegistration(deps: RegistrationDeps): PhoneRegistration {
  const { store, clock, timers, numbers, carrier, log } = deps;
  const now = () => clock.now();
  const registrations = createRegistrationStore({ store, now, numbers });
  const webhookUrl = `${deps.webhookOrigin}/api/v1/phone/webhooks/${carrier.name}`;
  // Carriers open its pages: at the address for people, or at the one that they themselves reach.
  const origin = [deps.origin, deps.webhookOrigin].find(isPublic) ?? deps.origin;
  const hosted = carrier.name === 'simulator' || isPublic(origin);
  const bench: Bench = { ...deps, registrations, webhookUrl, origin, hosted };
  const codes = createCodes(bench);
  const endFees = createEnding(bench);
  const kept = createCorrectionStore(now);
  const corrections = createCorrections({ ...bench, corrections: kept });
  const actions = {
    '10dlc': createTenDlc({ ...bench, codes, corrections }),
    toll_free: createTollFree({ ...bench, corrections }),
  };
  const { advance, settled } = createAdvance({ ...bench, actions, endFees, corrections });
  const submit = createSubmit({ ...bench, corrections: kept });
  const watch = createWatch({ ...bench, advance });

  /** Resolves with `work`, or after `ms`. */
  async function within(ms: number, work: Promise<void>): Promise<void> {
    const done = new AbortController();
    await Promise.race([work.finally(() => done.abort()), pause(timers, ms, done.signal)]);
  }

  /** Moves on for a few seconds; the rest continues in the background. */
  function advanceForAnswer(id: string): Promise<void> {
    const work = advance(id).catch((fault: Error) => {
      log.warn('A registration could not be moved on.', { registration: id, fault: fault.message });
    });
    return within(answerMs, work);
  }

  async function held(numberId: string): Promise<HeldNumber> {
    const number = await numbers.find(numberId);
    if (number !== null) return number;
    throw new AppError('not_found', 'There is no such number.', 'List your numbers to find the right one.', {
      wireCode: 'number_not_found',
    });
  }

  async function current(numberId: string): Promise<RegistrationRow> {
    const row = await store.read((tx) => registrations.current(tx, numberId));
    if (row !== null) return row;
    throw new AppError('not_found', 'No registration was filed for this number.', 'File the business form first.', {
      wireCode: 'registration_not_found',
    });
  }

  async function shown(numberId: string): Promise<Registration> {
    const row = await current(numberId);
    return store.read(function* (tx) {
      const steps = yield* registrations.steps(tx, row.id);
      const change = yield* kept.newest(tx, row.brandKey);
      const isOfIt =
        change !== null &&
        change.createdAt >= row.createdAt &&
        !isPassed(change, yield* registrations.find(tx, change.registrationId));
      return {
        ...toRegistration(row, steps, origin),
        correctable: correctableIn(row),
        correction: isOfIt ? toCorrection(change, row) : null,
      };
    });
  }

  async function readAnew(row: RegistrationRow): Promise<void> {
    const state = stateOf(row);
    if (state === 'approved') return readCorrection(row);
    if (state !== 'pending') return;
    // A filing that waits is tried again in its time, not when somebody looks.
    if (!underReview.has(row.stage) && row.waiting !== null) return;
    if (await registrations.claimRead(row.id, readEveryMs)) await advanceForAnswer(row.id);
  }

  /** The registration that requested it carries it out, whichever number somebody looks at. */
  async function readCorrection(row: RegistrationRow): Promise<void> {
    const change = await corrections.openOf(row);
    if (change === null || change.waiting !== null) return;
    if (await registrations.claimRead(change.registrationId, readEveryMs))
      await advanceForAnswer(change.registrationId);
  }

  async function confirm(row: RegistrationRow, pin: string | undefined): Promise<void> {
    if (row.stage !== 'code') {
      throw new AppError('refused', 'This registration is not waiting for a code.', 'See its steps.', {
        status: 409,
        wireCode: 'no_code_needed',
      });
    }
    try {
      if (pin === undefined) return await codes.sendAgain(row);
      await codes.check(row, pin);
    } catch (fault) {
      if (!(fault instanceof CarrierFault)) throw fault;
      log.warn('The carrier did not take a code.', { registration: row.id, kind: fault.kind, code: fault.code });
      // The carrier may have accepted it all the same: then the business has cleared.
      await advanceForAnswer(row.id);
      if ((await registrations.get(row.id))?.stage !== 'code') return;
      throw new AppError('transport', `The carrier could not be asked: ${fault.message}`, 'Try again in a minute.', {
        wireCode: 'carrier_refused',
      });
    }
    const text = 'The code was correct.';
    const changes = { codeConfirmedAt: now(), lookAt: now() };
    await store.write(function* (tx) {
      const step = { step: 'code', state: 'done', text, field: null } as const;
      if ((yield* registrations.move(tx, row.id, 'codeConfirmed', changes, step)) === null) return;
      yield* deps.fees.brand(tx, feeOf(row), row.brandKey, now());
    });
    await advanceForAnswer(row.id);
  }

  return {
    routes: [
      bind(submitRegistration, async ({ params, query, body }) => {
        const number = await held(params.id);
        if (query.dryRun === '1' || query.dryRun === 'true') {
          return { status: 200 as const, body: { dryRun: true as const, plan: await submit.plan(number, body) } };
        }
        const { id, isNew } = await submit.file(number, body);
        await advanceForAnswer(id);
        return { status: isNew ? (201 as const) : (200 as const), body: await shown(number.id) };
      }),
      bind(getRegistration, async ({ params }) => {
        await readAnew(await current(params.id));
        return { body: await shown(params.id) };
      }),
      bind(confirmRegistration, async ({ params, body }) => {
        await confirm(await current(params.id), body?.pin);
        return { body: await shown(params.id) };
      }),
      bind(optInPage, async ({ params, response }) => {
        const number = await numbers.find(params.numberId);
        const row = await store.read((tx) => registrations.current(tx, params.numberId));
        const found = number !== null && row !== null;
        const html = found ? optInPageOf(number.e164, row.form) : noSuchPage;
        response.writeHead(found ? 200 : 404, { ...pageHeaders, 'content-length': Buffer.byteLength(html) });
        response.end(html);
      }),
    ],
    hooks: {
      *released(tx, number) {
        yield* registrations.end(tx, number.id);
        yield* corrections.handOver(tx, number.id);
      },
      ending: (number) => endFees(number.id),
    },
    readers: createReaders({ registrations, advance, now }),
    *replies(tx, number) {
      return repliesOf(number, (yield* registrations.current(tx, number.id))?.form ?? null);
    },
    *isSoleProprietor(tx, numberId) {
      const row = yield* registrations.current(tx, numberId);
      return row !== null && isSoleProprietor(row.form);
    },
    async forgetOld(at) {
      const sql = `DELETE FROM phone_registration_code WHERE asked_at < ?
        AND registration_id NOT IN (SELECT id FROM phone_registration WHERE stage = 'code' AND ended_at IS NULL)`;
      await store.write((tx) => tx.run(sql, at - codeRetentionMs), { isolation: 'statement' });
      for (const { row, since } of await registrations.paidCampaigns()) {
        const campaign = { key: row.campaignKey, ...campaignPrices(row.form) };
        await store.write((tx) => deps.fees.campaign(tx, feeOf(row), campaign, since, at));
      }
    },
    start: () => watch.start(),
    // The next process looks up requests without an answer.
    close: () => within(graceMs, watch.close().then(settled)),
  };
}
