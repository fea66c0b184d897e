/** What a business form is to the registration that its number has: a new one, a correction, the same again, or refused. Files nothing. */
import { AppError } from '../../../contracts/common/errors.ts';
import type { RegistrationForm } from '../../../contracts/phone/registration.ts';
import type { Op, SharedReader } from '../../../kit/store/shared-store.ts';
import type { HeldNumber } from '../ports.ts';
import type { Bench } from './bench.ts';
import { changedFields, correctableIn, fixedProblems } from './correction.ts';
import type { CorrectionStore } from './correction-store.ts';
import { type CheckedForm, isSoleProprietor, type Problem } from './form.ts';
import { type RegistrationRow, stateOf } from './model.ts';
import { needsRegistration } from './needed.ts';
import { type Preflight, preflight } from './preflight.ts';
import { plain } from './same.ts';

export function createJudge({
  registrations,
  corrections,
  origin,
  hosted,
}: Pick<Bench, 'registrations' | 'origin' | 'hosted'> & { readonly corrections: CorrectionStore }) {
  /** Applies the form to the current registration. Throws if the form cannot change it. */
  function* judge(tx: SharedReader, number: HeldNumber, given: RegistrationForm) {
    if (!needsRegistration(number)) {
      throw conflict(
        'registration_not_needed',
        `${number.e164} can text without a registration.`,
        'There is nothing to do.',
      );
    }
    const row = yield* registrations.current(tx, number.id);
    if (row !== null && stateOf(row) === 'approved') return yield* judgeRegistered(tx, row, number, given);
    const corrects = row !== null && isCorrected(row);
    const checked = corrects
      ? correction(row, number, given)
      : preflight(given, { number, origin, hosted, before: before(row) });
    if (row !== null && stateOf(row) !== 'rejected') {
      if (checked.form !== null && sameForm(row.form, checked.form)) {
        return { row, corrects, checked, form: row.form, changes: [], is: 'again' as const };
      }
      throw underWay(row);
    }
    if (checked.form === null) throw badForm(checked.problems);
    if (row === null || !corrects) yield* checkPerson(tx, number, checked.form);
    const changes = corrects ? changedFields(row.form, checked.form) : [];
    return { row, corrects, checked, form: checked.form, changes, is: 'filed' as const };
  }

  /** For a registered business: the carriers get the changes, and a field that they never change is refused at once. */
  function* judgeRegistered(tx: SharedReader, row: RegistrationRow, number: HeldNumber, given: RegistrationForm) {
    const checked = merged(row, number, given);
    const problems = [...fixedProblems(row, given), ...checked.problems];
    const { form } = checked;
    if (form === null || problems.length > 0) throw badForm(problems);
    const open = yield* corrections.open(tx, row.brandKey);
    const changes = changedFields(row.form, form);
    const again = open === null ? changes.length === 0 : open.registrationId === row.id && sameForm(open.form, form);
    if (again) return { row, corrects: true, checked, form, changes, is: 'again' as const };
    if (open === null) return { row, corrects: true, checked, form, changes, is: 'correction' as const };
    throw conflict(
      'correction_pending',
      `Another correction of ${row.form.brandName} is under way (${open.fields.join(', ')}).`,
      'Wait until the carriers have decided it.',
    );
  }

  const before = (row: RegistrationRow | null) =>
    row === null ? null : { ein: row.form.ein, full: row.ein !== null, einNeeded: true };

  function correction(row: RegistrationRow, number: HeldNumber, given: RegistrationForm): Preflight {
    if (row.kind === 'toll_free') return preflight(given, { number, origin, hosted, before: before(row) });
    const may: readonly string[] = correctableIn(row);
    return merged(row, number, Object.fromEntries(Object.entries(given).filter(([field]) => may.includes(field))));
  }

  /** Absent fields keep their values; nobody has to enter the EIN again. */
  function merged(row: RegistrationRow, number: HeldNumber, given: RegistrationForm): Preflight {
    const facts = { number, origin, hosted, before: { ein: row.form.ein, full: false, einNeeded: false } };
    const stated = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
    return preflight({ ...row.form, ...stated, ein: row.form.ein }, facts);
  }

  /** Carriers allow an individual one number. */
  function* checkPerson(tx: SharedReader, number: HeldNumber, form: CheckedForm): Op<void> {
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

  return judge;
}

export const isLive = (row: RegistrationRow) => row.endedAt === null && row.feesEndedAt === null;

/** A refused business files again; anything else is corrected. */
const isCorrected = (row: RegistrationRow) =>
  row.stage === 'campaign_rejected' || row.stage === 'verification_rejected';

/** A client that missed the response sends the form again. */
const sameForm = (one: CheckedForm, other: CheckedForm) =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

const sorted = (form: CheckedForm) =>
  Object.entries(form)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));

function badForm(problems: readonly Problem[]): AppError {
  const fact = `The form has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}: ${problems.map(({ field, text }) => `${field}: ${text}`).join(' ')}`;
  return new AppError('usage', fact, 'Nothing was filed. Correct it and send it again.', {
    wireCode: 'bad_request',
    extra: { problems },
  });
}

function underWay(row: RegistrationRow): AppError {
  return conflict(
    'registration_pending',
    `The registration of ${row.e164} is under way with another form.`,
    'Wait until it is decided; a rejected one can be corrected.',
  );
}

function conflict(wireCode: string, fact: string, action: string): AppError {
  return new AppError('refused', fact, action, { status: 409, wireCode });
}
