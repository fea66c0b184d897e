/**
 * Accepts a business form: checks it as a whole, then begins a registration, or corrects the decided one in place. Details already filed for another
 * number of the same business are not filed and paid for again.
 */
import { AppError } from '../../../contracts/common/errors.ts';
import type { RegistrationForm } from '../../../contracts/phone/registration.ts';
import type { Op, SharedReader, SharedTx } from '../../../kit/store/shared-store.ts';
import type { HeldNumber } from '../ports.ts';
import { type Bench, einPlace } from './bench.ts';
import { type FormField, fixedProblems } from './correction.ts';
import type { CorrectionStore } from './correction-store.ts';
import { type Fee, feesOf } from './fees.ts';
import { brandOf } from './filing.ts';
import { type CheckedForm, isSoleProprietor, type Problem } from './form.ts';
import { createJudge, isLive } from './judge.ts';
import { linksOf, messageFlowOf } from './message-flow.ts';
import type { RegistrationRow } from './model.ts';
import type { Preflight } from './preflight.ts';
import { identityOf, textsOf } from './same.ts';

interface Submitted {
  readonly id: string;
  /** False: it existed already. */
  readonly isNew: boolean;
}

interface Plan {
  readonly kind: CheckedForm['kind'];
  readonly fees: Fee[];
  readonly messageFlow: string;
  readonly optInUrl: string;
  readonly corrects: boolean;
  readonly changes: FormField[];
  readonly warnings: Problem[];
}

interface Submit {
  /** Throws 400 `bad_request` with `problems`, 409 if nothing can be filed now. */
  plan(number: HeldNumber, given: RegistrationForm): Promise<Plan>;
  /** The same, and records it durably; the carrier has nothing yet. */
  file(number: HeldNumber, given: RegistrationForm): Promise<Submitted>;
}

export function createSubmit(deps: Bench & { readonly corrections: CorrectionStore }): Submit {
  const { store, registrations, corrections, numbers, ids, sealer, origin } = deps;
  const judge = createJudge(deps);

  const seal = (id: string, ein: string | null) => (ein === null ? null : sealer.seal(einPlace(id), ein));

  function* begin(
    tx: SharedTx,
    number: HeldNumber,
    row: RegistrationRow | null,
    checked: Preflight,
    form: CheckedForm,
  ) {
    const id = ids.next('registration');
    const share = yield* shared(registrations, tx, number, form, id);
    // A rejected registration keeps no full EIN to copy.
    if (row !== null) yield* registrations.follow(tx, row.id);
    const facts = { id, numberId: number.id, userId: number.userId, e164: number.e164, kind: form.kind, form };
    const stage = share.brandId === null ? ('filed' as const) : ('brand' as const);
    const text =
      share.brandId === null
        ? 'The form was checked and is being filed.'
        : 'The form was checked. The business is already registered and is not filed again.';
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
    const kept = row.kind === '10dlc' ? unchangedFields(row, given) : [];
    const also = kept.length === 0 ? '' : ` Carriers do not change these: ${kept.join(', ')}.`;
    const changes = {
      form,
      texts: textsOf(form),
      revision: row.revision + 1,
      ...(isSameBrand(row, form) ? {} : { brandAsked: 1 as const }),
      ...(checked.ein === null ? {} : { ein: seal(row.id, checked.ein) }),
      lookAt: deps.clock.now(),
    };
    const text = `The form was corrected and is sent again.${also}`;
    yield* registrations.move(tx, row.id, moveOf(row), changes, { state: 'working', text, field: null });
    return { id: row.id, isNew: false };
  }

  const isSameBrand = (row: RegistrationRow, form: CheckedForm) => {
    const told = (one: CheckedForm) => JSON.stringify(brandOf(one, null, deps.webhookUrl));
    return row.kind === 'toll_free' || told(row.form) === told(form);
  };

  /** Durable; the number keeps texting, and the periodic work brings the changes to the carriers. */
  function* change(tx: SharedTx, row: RegistrationRow, form: CheckedForm, fields: readonly FormField[]) {
    const { brandKey, campaignKey } = row;
    const stage = row.kind === 'toll_free' ? ('verification' as const) : ('brand' as const);
    const facts = { registrationId: row.id, brandKey, campaignKey, stage, fields, form, before: row.form };
    yield* corrections.insert(tx, { id: ids.next('correction'), ...facts });
    yield* registrations.keep(tx, row.id, { lookAt: deps.clock.now() });
    const text = `A correction was sent (${fields.join(', ')}). The number keeps texting under its old registration until the carriers accept it.`;
    yield* registrations.note(tx, row, { step: stage, state: 'working', text, field: null });
    return { id: row.id, isNew: false };
  }

  return {
    async plan(number, given) {
      return store.read(function* (tx) {
        const { row, corrects, checked, form, changes } = yield* judge(tx, number, given);
        const has = yield* shared(registrations, tx, number, form, '');
        const links = linksOf(form, number.id, origin);
        const filed = corrects && (row?.campaignId ?? row?.requestId ?? null) !== null;
        return {
          kind: form.kind,
          fees: filed ? [] : feesOf(form, { brand: has.brandKey !== '', campaign: has.campaignKey !== '' }),
          messageFlow: messageFlowOf(number.e164, links),
          optInUrl: links.optInUrl,
          corrects,
          changes: [...changes],
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
        const { row, corrects, checked, form, changes, is } = yield* judge(tx, held, given);
        if (is === 'again' && row !== null) return { id: row.id, isNew: false };
        if (is === 'correction') return yield* change(tx, row, form, changes);
        if (row !== null && corrects) return yield* correct(tx, row, checked, form, given);
        return yield* begin(tx, held, row, checked, form);
      });
    },
  };
}

/** What another number of the person already has at the carrier, and this one can share. */
function* shared(
  registrations: Bench['registrations'],
  tx: SharedReader,
  number: HeldNumber,
  form: CheckedForm,
  own: string,
) {
  const none = { brandKey: own, brandId: null, campaignKey: own, campaignId: null };
  if (form.kind === 'toll_free') return none;
  const identity = identityOf(form);
  const rows = yield* registrations.ofPerson(tx, number.userId);
  const ofBusiness = rows.filter((row) => row.identity === identity && row.kind === '10dlc');
  // A registration that ended before the refusal still names the refused brand.
  const refused = new Set(ofBusiness.filter(({ stage }) => stage === 'brand_rejected').map(({ brandKey }) => brandKey));
  const same = ofBusiness.filter(({ brandKey }) => !refused.has(brandKey));
  const brand = same.find(({ brandId }) => brandId !== null) ?? same.find(isLive);
  if (brand === undefined) return none;
  const { brandKey, brandId } = brand;
  const texts = textsOf(form);
  const live = same.filter(
    (row) => isLive(row) && row.brandKey === brandKey && row.texts === texts && mayBeJoined.has(row.stage),
  );
  const campaign = isSoleProprietor(form) || live.length >= maxNumbers ? undefined : live[0];
  if (campaign === undefined) return { ...none, brandKey, brandId };
  return { brandKey, brandId, campaignKey: campaign.campaignKey, campaignId: campaign.campaignId };
}

/** The number of numbers that carriers usually allow in one campaign. */
const maxNumbers = 49;
const mayBeJoined: ReadonlySet<RegistrationRow['stage']> = new Set([
  'filed',
  'brand',
  'campaign',
  'review',
  'number',
  'approved',
]);

function moveOf(row: RegistrationRow) {
  if (row.kind === '10dlc') return row.campaignId === null ? 'campaignAskedAgain' : 'correctionAsked';
  return row.requestId === null ? 'verificationAskedAgain' : 'correctionAsked';
}

function unchangedFields(row: RegistrationRow, given: RegistrationForm): string[] {
  return fixedProblems(row, given).flatMap(({ field }) => (field === null || field === 'ein' ? [] : [field]));
}
