/**
 * A business form comes in (interface.md F, rules 3 to 5): checked as a whole, then a registration is begun, or the rejected one is
 * corrected in place. What of it is filed already, for another number of the same business, is not filed and paid for again.
 */
import { createHash } from 'node:crypto';
import { AppError } from '../../../contracts/common/errors.ts';
import type { RegistrationForm } from '../../../contracts/phone/registration.ts';
import type { Op, SharedTx } from '../../../kit/store/shared-store.ts';
import type { HeldNumber } from '../ports.ts';
import { type Bench, einPlace } from './bench.ts';
import { type Fee, feesOf } from './fees.ts';
import { type CheckedForm, isSoleProprietor, type Problem } from './form.ts';
import { linksOf, messageFlowOf } from './message-flow.ts';
import { type RegistrationRow, stateOf } from './model.ts';
import { needsRegistration } from './needed.ts';
import { type Preflight, preflight } from './preflight.ts';

export interface Submitted {
  readonly id: string;
  /** False: it is the one that was there. */
  readonly isNew: boolean;
}

export interface Plan {
  readonly kind: CheckedForm['kind'];
  readonly fees: Fee[];
  readonly messageFlow: string;
  readonly optInUrl: string;
  readonly corrects: boolean;
  readonly warnings: Problem[];
}

export interface Submit {
  /** Throws 400 `bad_request` with `problems`, 409 where nothing can be filed now. */
  plan(number: HeldNumber, given: RegistrationForm): Promise<Plan>;
  /** The same, and notes it durably; nothing is at the carrier yet. */
  file(number: HeldNumber, given: RegistrationForm): Promise<Submitted>;
}

/** What a filed campaign can have corrected (phone.md 2.6); the rest stays as it was filed. */
const correctable = [
  'sampleMessages',
  'optInPageUrl',
  'optInWorkflow',
  'contactEmail',
  'contactPhone',
  'monthlyMessages',
] as const satisfies readonly (keyof CheckedForm)[];

const digest = (...parts: readonly unknown[]) => createHash('sha256').update(JSON.stringify(parts)).digest('hex');
const plain = (text: string | undefined) =>
  (text ?? '')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}*]+/gu, ' ')
    .trim();

/** Of who registers; of an EIN only what is told. */
const identityOf = (form: CheckedForm) =>
  isSoleProprietor(form)
    ? digest('person', plain(form.contactFirstName), plain(form.contactLastName), form.mobilePhone)
    : digest('business', form.entityType, plain(form.legalName), form.ein, form.country);

const textsOf = (form: CheckedForm) => digest(form.useCase, form.subUseCases, form.description, form.sampleMessages);

export function createSubmit(deps: Bench): Submit {
  const { store, registrations, numbers, ids, sealer, origin, hosted } = deps;

  /** What the form makes of what there is. Throws where it makes nothing. */
  function* judge(tx: Parameters<typeof registrations.find>[0], number: HeldNumber, given: RegistrationForm) {
    if (!needsRegistration(number)) {
      throw conflict(
        'registration_not_needed',
        `${number.e164} texts without a registration.`,
        'There is nothing to do.',
      );
    }
    const row = yield* registrations.current(tx, number.id);
    const corrects = row !== null && isCorrected(row);
    const checked = corrects
      ? correction(row, number, given)
      : preflight(given, { number, origin, hosted, before: before(row) });
    if (row !== null && stateOf(row) !== 'rejected') {
      if (sameAs(row, checked)) return { row, corrects, checked, form: row.form, is: 'again' as const };
      throw underWay(row);
    }
    if (checked.form === null) throw badForm(checked.problems);
    if (row === null || !corrects) yield* checkPerson(tx, number, checked.form);
    return { row, corrects, checked, form: checked.form, is: 'filed' as const };
  }

  const before = (row: RegistrationRow | null) =>
    row === null ? null : { ein: row.form.ein, full: row.ein !== null, einNeeded: true };

  function correction(row: RegistrationRow, number: HeldNumber, given: RegistrationForm): Preflight {
    if (row.kind === 'toll_free') return preflight(given, { number, origin, hosted, before: before(row) });
    const kept = Object.fromEntries(correctable.map((field) => [field, given[field] ?? row.form[field]]));
    const facts = { number, origin, hosted, before: { ein: row.form.ein, full: false, einNeeded: false } };
    return preflight({ ...row.form, ...kept }, facts);
  }

  /** One number an individual (interface.md F, rule 5). */
  function* checkPerson(tx: Parameters<typeof registrations.find>[0], number: HeldNumber, form: CheckedForm): Op<void> {
    if (!isSoleProprietor(form)) return;
    const name = (one: CheckedForm) => plain(`${one.contactFirstName} ${one.contactLastName}`);
    const rows = yield* registrations.ofPerson(tx, number.userId);
    const other = rows.find(
      (row) =>
        isLive(row) &&
        row.numberId !== number.id &&
        row.stage !== 'brand_rejected' &&
        isSoleProprietor(row.form) &&
        (row.form.mobilePhone === form.mobilePhone || name(row.form) === name(form)),
    );
    if (other === undefined) return;
    throw conflict(
      'one_number_per_person',
      `Carriers allow a sole proprietor one number, and ${other.e164} is registered for this one.`,
      'Release that number first, or register as a business with its EIN.',
    );
  }

  /** What another number of the person has at the carrier already, and this one can share. */
  function* shared(tx: Parameters<typeof registrations.find>[0], number: HeldNumber, form: CheckedForm, own: string) {
    const none = { brandKey: own, brandId: null, campaignKey: own, campaignId: null };
    if (form.kind === 'toll_free') return none;
    const identity = identityOf(form);
    const rows = yield* registrations.ofPerson(tx, number.userId);
    const ofBusiness = rows.filter((row) => row.identity === identity && row.kind === '10dlc');
    // Whoever did not stay to hear that it was refused has it still.
    const refused = new Set(
      ofBusiness.filter(({ stage }) => stage === 'brand_rejected').map(({ brandKey }) => brandKey),
    );
    const same = ofBusiness.filter(({ brandKey }) => !refused.has(brandKey));
    const brand = same.find(({ brandId }) => brandId !== null) ?? same.find(isLive);
    if (brand === undefined) return none;
    const { brandKey, brandId } = brand;
    const texts = textsOf(form);
    const live = same.filter(
      (row) => isLive(row) && row.brandKey === brandKey && row.texts === texts && mayBeJoined.has(row.stage),
    );
    const campaign = isSoleProprietor(form) || live.length >= mostNumbers ? undefined : live[0];
    if (campaign === undefined) return { ...none, brandKey, brandId };
    return { brandKey, brandId, campaignKey: campaign.campaignKey, campaignId: campaign.campaignId };
  }

  const seal = (id: string, ein: string | null) => (ein === null ? null : sealer.seal(einPlace(id), ein));

  function* begin(
    tx: SharedTx,
    number: HeldNumber,
    row: RegistrationRow | null,
    checked: Preflight,
    form: CheckedForm,
  ) {
    const id = ids.next('registration');
    const share = yield* shared(tx, number, form, id);
    // What was rejected keeps no full EIN, so there is none to take over.
    if (row !== null) yield* registrations.follow(tx, row.id);
    const facts = { id, numberId: number.id, userId: number.userId, e164: number.e164, kind: form.kind, form };
    const stage = share.brandId === null ? ('filed' as const) : ('brand' as const);
    const text =
      share.brandId === null
        ? 'The form was checked and is being filed.'
        : 'The form was checked. The business is registered already, and is not filed again.';
    const ein = stage === 'filed' ? seal(id, checked.ein) : null;
    yield* registrations.insert(
      tx,
      { ...facts, ...share, stage, ein, identity: identityOf(form), texts: textsOf(form) },
      text,
    );
    return { id, isNew: true };
  }

  function* correct(
    tx: SharedTx,
    row: RegistrationRow,
    checked: Preflight,
    form: CheckedForm,
    given: RegistrationForm,
  ) {
    const kept = row.kind === '10dlc' && row.campaignId !== null ? keptFields(row.form, given) : [];
    const also = kept.length === 0 ? '' : ` What a filed campaign cannot change stays as it was: ${kept.join(', ')}.`;
    const changes = {
      form,
      texts: textsOf(form),
      revision: row.revision + 1,
      ...(checked.ein === null ? {} : { ein: seal(row.id, checked.ein) }),
      lookAt: deps.clock.now(),
    };
    const text = `The form was corrected and is sent again.${also}`;
    yield* registrations.move(tx, row.id, moveOf(row), changes, { state: 'working', text, field: null });
    return { id: row.id, isNew: false };
  }

  return {
    async plan(number, given) {
      return store.read(function* (tx) {
        const { row, corrects, checked, form } = yield* judge(tx, number, given);
        const has = yield* shared(tx, number, form, '');
        const links = linksOf(form, number.id, origin);
        const filed = corrects && (row?.campaignId ?? row?.requestId ?? null) !== null;
        return {
          kind: form.kind,
          fees: filed ? [] : feesOf(form, { brand: has.brandKey !== '', campaign: has.campaignKey !== '' }),
          messageFlow: messageFlowOf(number.e164, links),
          optInUrl: links.optInUrl,
          corrects,
          warnings: [...checked.warnings],
        };
      });
    },
    async file(number, given) {
      return store.write(function* (tx): Op<Submitted> {
        const held = yield* numbers.read(tx, number.id);
        if (held === null) {
          throw new AppError('not_found', 'The number was released meanwhile.', 'Choose another.', {
            wireCode: 'number_not_found',
          });
        }
        const { row, corrects, checked, form, is } = yield* judge(tx, held, given);
        if (is === 'again' && row !== null) return { id: row.id, isNew: false };
        if (row !== null && corrects) return yield* correct(tx, row, checked, form, given);
        return yield* begin(tx, held, row, checked, form);
      });
    },
  };
}

/** What carriers usually let join one campaign. */
const mostNumbers = 49;
const mayBeJoined: ReadonlySet<RegistrationRow['stage']> = new Set([
  'filed',
  'brand',
  'campaign',
  'review',
  'number',
  'approved',
]);
const isLive = (row: RegistrationRow) => row.endedAt === null && row.feesEndedAt === null;

/** A business that was refused files anew; the rest is corrected. */
const isCorrected = (row: RegistrationRow) =>
  row.stage === 'campaign_rejected' || row.stage === 'verification_rejected';

function moveOf(row: RegistrationRow) {
  if (row.kind === '10dlc') return row.campaignId === null ? 'campaignAskedAgain' : 'correctionAsked';
  return row.requestId === null ? 'verificationAskedAgain' : 'correctionAsked';
}

function keptFields(filed: CheckedForm, given: RegistrationForm): string[] {
  const may: readonly string[] = correctable;
  return Object.entries(given)
    .filter(([field, value]) => !may.includes(field) && field !== 'kind' && field !== 'ein' && value !== undefined)
    .filter(([field, value]) => JSON.stringify(value) !== JSON.stringify(filed[field as keyof CheckedForm]))
    .map(([field]) => field);
}

/** Whoever did not hear the answer sends it once more. */
function sameAs(row: RegistrationRow, { form }: Preflight): boolean {
  return form !== null && JSON.stringify(sorted(form)) === JSON.stringify(sorted(row.form));
}

const sorted = (form: CheckedForm) =>
  Object.entries(form)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));

export function badForm(problems: readonly Problem[]): AppError {
  const fact = `The form has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}: ${problems.map(({ field, text }) => `${field}: ${text}`).join(' ')}`;
  return new AppError('usage', fact, 'Nothing was filed. Correct it and send it again.', {
    wireCode: 'bad_request',
    extra: { problems },
  });
}

function underWay(row: RegistrationRow): AppError {
  if (stateOf(row) === 'approved') {
    const fact = `${row.e164} is registered already.`;
    return conflict(
      'already_registered',
      fact,
      'Release the number and buy another to register it for something else.',
    );
  }
  return conflict(
    'registration_pending',
    `The registration of ${row.e164} is under way with another form.`,
    'Wait until it is decided; a rejected one can be corrected.',
  );
}

function conflict(wireCode: string, fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 409, wireCode });
}
