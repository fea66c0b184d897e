/** Turns the typed registration into the business form that the server accepts. The server reports its errors. Pure. */
import { entityTypes, type RegistrationForm, useCases, verticals } from '../../../contracts/phone/registration.ts';
import type { NumberType } from '../../../contracts/phone/values.ts';
import { inSentence, plainWord, readNumber } from './phone-words.ts';

/** Who texts. Toll-free numbers are verified for businesses only. */
type Who = 'business' | 'person';

/** Fields that are one text each. */
type FormField = Exclude<
  {
    [K in keyof RegistrationForm]-?: NonNullable<RegistrationForm[K]> extends string ? K : never;
  }[keyof RegistrationForm],
  'kind' | 'optInWorkflow'
>;

export interface Draft {
  readonly who: Who;
  readonly texts: Readonly<Record<FormField, string>>;
  readonly samples: readonly string[];
  readonly monthly: string;
}

interface Shown {
  readonly name: FormField;
  readonly word: string;
  readonly says?: string;
  readonly options?: readonly { readonly value: string; readonly word: string }[];
  readonly multiline?: true;
  /** `person`: only sole proprietors, `business`: all others; absent: both. */
  readonly of?: Who;
  /** Of everybody, or of one kind of sender. */
  readonly needed?: true | Who;
  /** What it is while nothing is chosen. */
  readonly preset?: string;
}
interface Section {
  readonly title: string;
  readonly says: string;
  readonly fields: readonly Shown[];
}

const choices = (wires: readonly string[]) => wires.map((value) => ({ value, word: plainWord(value) }));
const entityWords: Readonly<Record<string, string>> = {
  PRIVATE_PROFIT: 'Private company',
  PUBLIC_PROFIT: 'Listed company',
  NON_PROFIT: 'Non-profit',
  GOVERNMENT: 'Government',
};

export const sections: readonly Section[] = [
  {
    title: 'Sender',
    says: 'Exactly as the tax authority has it. Carriers compare the two.',
    fields: [
      { name: 'legalName', word: 'Legal name', needed: 'business' },
      { name: 'brandName', word: 'Known as', says: 'If people know you by another name.' },
      {
        name: 'entityType',
        word: 'Legal form',
        of: 'business',
        preset: 'PRIVATE_PROFIT',
        options: entityTypes
          .filter((one) => one !== 'SOLE_PROPRIETOR')
          .map((value) => ({ value, word: entityWords[value] ?? plainWord(value) })),
      },
      {
        name: 'ein',
        word: 'EIN',
        of: 'business',
        needed: true,
        says: 'Nine digits, e.g. 12-3456789. Stored encrypted and never shown again.',
      },
      { name: 'stockSymbol', word: 'Stock symbol', of: 'business' },
      { name: 'stockExchange', word: 'Stock exchange', of: 'business' },
      { name: 'vertical', word: 'Industry', preset: 'PROFESSIONAL', options: choices(verticals) },
      { name: 'website', word: 'Website', needed: 'business' },
      { name: 'street', word: 'Street', needed: true },
      { name: 'city', word: 'City', needed: true },
      { name: 'region', word: 'State', needed: true, says: 'Two letters, such as CO.' },
      { name: 'postalCode', word: 'ZIP code', needed: true },
      { name: 'country', word: 'Country', says: 'Empty: US.' },
    ],
  },
  {
    title: 'Contact',
    says: 'The person carriers contact with questions.',
    fields: [
      { name: 'contactFirstName', word: 'First name', needed: 'person' },
      { name: 'contactLastName', word: 'Last name', needed: 'person' },
      { name: 'contactEmail', word: 'Email', needed: true },
      { name: 'contactPhone', word: 'Phone', needed: 'business' },
      {
        name: 'mobilePhone',
        word: 'Mobile phone',
        of: 'person',
        needed: true,
        says: 'It gets a code, which you enter here.',
      },
    ],
  },
  {
    title: 'Purpose',
    says: 'Reviewers read this. Gantry describes for you how people opt in.',
    fields: [
      {
        name: 'useCase',
        word: 'Use case',
        of: 'business',
        preset: 'LOW_VOLUME',
        options: choices(useCases.filter((one) => one !== 'SOLE_PROPRIETOR')),
      },
      {
        name: 'description',
        word: 'Description',
        multiline: true,
        says: 'Who gets texts, when and why. Empty: written for you.',
      },
      { name: 'optInPageUrl', word: 'Opt-in page', says: 'Empty: a page that Gantry hosts.' },
      { name: 'termsUrl', word: 'Terms', says: 'The address of your own page, if you have one.' },
      { name: 'privacyUrl', word: 'Privacy', says: 'The address of your own page, if you have one.' },
    ],
  },
];

/** Only listed companies have a symbol and an exchange. */
const ofListed: readonly FormField[] = ['stockSymbol', 'stockExchange'];

export const fieldsOf = (section: Section, { who, texts }: Pick<Draft, 'who' | 'texts'>): readonly Shown[] =>
  section.fields.filter(
    ({ name, of }) =>
      (of === undefined || of === who) && (texts.entityType === 'PUBLIC_PROFIT' || !ofListed.includes(name)),
  );

const names = sections.flatMap(({ fields }) => fields.map(({ name }) => name));

/** A masked EIN stays in its field: sent back it means the one that is kept. */
export function draftOf(form: RegistrationForm | null): Draft {
  const texts = Object.fromEntries(names.map((name) => [name, form?.[name] ?? ''])) as Draft['texts'];
  return {
    who: form?.entityType === 'SOLE_PROPRIETOR' ? 'person' : 'business',
    texts: { ...texts, entityType: texts.entityType === 'SOLE_PROPRIETOR' ? '' : texts.entityType },
    samples: form?.sampleMessages === undefined || form.sampleMessages.length === 0 ? ['', ''] : form.sampleMessages,
    monthly: form?.monthlyMessages === undefined ? '' : String(form.monthlyMessages),
  };
}

/** What is left empty is left out; what belongs to the other kind of sender, too. */
export function formOf(draft: Draft, type: NumberType): RegistrationForm {
  const shown = sections.flatMap((section) => fieldsOf(section, draft));
  const given = shown.flatMap(({ name }): readonly [string, string][] => {
    const text = draft.texts[name].trim();
    if (text === '') return [];
    if (name === 'mobilePhone' || name === 'contactPhone') return [[name, readNumber(text) ?? text]];
    return [[name, name === 'country' || name === 'region' ? text.toUpperCase() : text]];
  });
  const samples = draft.samples.map((one) => one.trim()).filter((one) => one !== '');
  const monthly = Number(draft.monthly);
  return {
    ...Object.fromEntries(given),
    kind: type === 'toll_free' ? 'toll_free' : '10dlc',
    ...(draft.who === 'person' ? { entityType: 'SOLE_PROPRIETOR', useCase: 'SOLE_PROPRIETOR' } : {}),
    ...(samples.length === 0 ? {} : { sampleMessages: samples }),
    ...(draft.monthly.trim() === '' || !Number.isInteger(monthly) || monthly < 1 ? {} : { monthlyMessages: monthly }),
  };
}

/** Of what is there: what can be changed, and empty where it was taken out. A field that is left out stays as it is. */
export function correctionOf(
  draft: Draft,
  type: NumberType,
  known: { readonly form: RegistrationForm; readonly correctable: readonly string[] },
): RegistrationForm {
  const given: RegistrationForm = formOf(draft, type);
  const corrected: Record<string, unknown> = {};
  for (const name of known.correctable) {
    const field = name as keyof RegistrationForm;
    const was = known.form[field];
    if (given[field] !== undefined) corrected[field] = given[field];
    else if (field === 'sampleMessages') corrected[field] = [];
    else if (typeof was === 'string' && field in draft.texts) corrected[field] = '';
  }
  return corrected as RegistrationForm;
}

/** What a field is called; of `sampleMessages.1`, the field that it is in. */
export function fieldWord(field: string): string {
  const name = baseOf(field);
  if (name === 'sampleMessages') return 'sample messages';
  if (name === 'monthlyMessages') return 'texts per month';
  const shown = sections.flatMap(({ fields }) => fields).find((one) => one.name === name);
  return shown === undefined ? name : inSentence(shown.word);
}

const baseOf = (field: string): string => field.split(/[.[]/, 1)[0] ?? field;

export interface FormProblem {
  readonly field: string | null;
  readonly text: string;
}

/** The server's problems below their fields; `''`: of no field that is shown. */
export function problemsByField(problems: readonly FormProblem[], draft: Draft): ReadonlyMap<string, string> {
  const shown = new Set<string>([
    ...sections.flatMap((section) => fieldsOf(section, draft).map(({ name }) => name)),
    'sampleMessages',
    'monthlyMessages',
  ]);
  const by = new Map<string, string>();
  for (const { field, text } of problems) {
    const name = field === null ? '' : baseOf(field);
    const key = shown.has(name) ? name : '';
    const before = by.get(key);
    by.set(key, before === undefined ? text : `${before} ${text}`);
  }
  return by;
}

/** Of a refused form, as the answer has them; null: it was refused for something else. */
export function problemsIn(extra: Readonly<Record<string, unknown>> | undefined): readonly FormProblem[] | null {
  const list = extra?.problems;
  if (!Array.isArray(list)) return null;
  const problems = list.flatMap((one: unknown): readonly FormProblem[] => {
    if (typeof one !== 'object' || one === null || !('text' in one) || typeof one.text !== 'string') return [];
    return [{ field: 'field' in one && typeof one.field === 'string' ? one.field : null, text: one.text }];
  });
  return problems.length === 0 ? null : problems;
}
