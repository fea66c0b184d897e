/**
 * Checks the whole form before any fee is paid: everything that a carrier would refuse, by field, all at once. Pure:
 * knows neither carrier nor database.
 */
import { entityTypes, type RegistrationForm, useCases, verticals } from '../../../contracts/phone/registration.ts';
import type { NumberType, RegistrationKind } from '../../../contracts/phone/values.ts';
import { readE164 } from '../e164.ts';
import { isMasked, maskEin, readEin } from './ein.ts';
import { type CheckedForm, isSoleProprietor, type Problem, readKind, readWord } from './form.ts';
import { linksOf, maxTollFreeFlowLength, messageFlowOf } from './message-flow.ts';
import { regionCode } from './regions.ts';
import { companyFormIn, hasSsn, riskyIn, shortenerIn } from './wording.ts';

interface PreflightFacts {
  readonly number: { readonly id: string; readonly e164: string; readonly type: NumberType };
  readonly origin: string;
  /** Whether carriers can open pages there; if not, the business shows its own. */
  readonly hosted: boolean;
  /**
   * About the earlier registration that this one follows: its EIN as it was masked, whether its full copy still exists, and whether the form will be
   * filed with an EIN: correcting a campaign needs none.
   */
  readonly before?: { readonly ein: string | undefined; readonly full: boolean; readonly einNeeded: boolean } | null;
}

export interface Preflight {
  /** Null: it has problems. */
  readonly form: CheckedForm | null;
  /** The full EIN, if a new one was given. Never stored in the form. */
  readonly ein: string | null;
  readonly problems: readonly Problem[];
  /** Warnings: carriers often, but not always, refuse these. */
  readonly warnings: readonly Problem[];
}

const fewestSamples = 2;
const sampleLength = [20, 255] as const;
const descriptionLength = [40, 4096] as const;
/** The limit for the summary of a toll-free verification. */
const maxSummaryLength = 500;
const maxWebsiteLength = 100;
const mixedNeeds = 2;
const email = /^[^\s@<>"]+@[^\s@<>".]+(?:\.[^\s@<>".]+)+$/;
const zip: Readonly<Record<string, RegExp>> = { US: /^\d{5}(?:-\d{4})?$/, CA: /^[A-Z]\d[A-Z] ?\d[A-Z]\d$/i };
/** Whole name. */
const defaultUseCase = 'LOW_VOLUME';

type Note = (field: keyof RegistrationForm, text: string) => void;

export function preflight(given: RegistrationForm, facts: PreflightFacts): Preflight {
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const note: Note = (field, text) => problems.push({ field, text });
  const trimmed = trim(given);
  const kind = kindOf(trimmed, facts.number.type, note);
  const form = withDefaults(trimmed, kind);
  checkBusiness(form, note);
  checkContact(form, facts.number.e164, note);
  const { masked, ein } = checkEin(form, facts.before ?? null, note);
  checkUse(form, note);
  checkTexts(form, note, warnings);
  checkLinks(form, facts, note);
  if (problems.length > 0) return { form: null, ein: null, problems, warnings };
  return { form: { ...form, ein: masked }, ein, problems, warnings };
}

/** The form as it would be stored: trimmed, with its defaults, unchecked. */
export const readForm = (given: RegistrationForm, kind: RegistrationKind): CheckedForm =>
  withDefaults(trim(given), kind);

function trim(given: RegistrationForm): RegistrationForm {
  const tidy = (value: unknown) => (typeof value === 'string' ? value.trim() || undefined : value);
  const entries = Object.entries(given).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map((one: string) => one.trim()).filter((one) => one !== '') : tidy(value),
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined)) as RegistrationForm;
}

function kindOf({ kind, entityType }: RegistrationForm, type: NumberType, note: Note): RegistrationKind {
  const usual = type === 'toll_free' ? 'toll_free' : '10dlc';
  const asked = kind === undefined ? usual : readKind(kind);
  if (asked === null) {
    note('kind', `${JSON.stringify(kind)} is not a kind of registration. Send 10dlc or toll_free, or leave it out.`);
  } else if (asked !== usual) {
    const word = type === 'toll_free' ? 'toll-free number, which takes toll_free' : 'local number, which takes 10dlc';
    note('kind', `This is a ${word}; carriers refuse ${asked} for it. Leave the kind out.`);
  }
  if (usual === 'toll_free' && entityType === 'SOLE_PROPRIETOR') {
    note(
      'entityType',
      'Carriers verify toll-free numbers only for registered businesses. As a sole proprietor, use a local number.',
    );
  }
  return asked ?? usual;
}

/** Adds defaults for missing fields that every form needs. The region is unchanged. */
function withDefaults(given: RegistrationForm, kind: RegistrationKind): CheckedForm {
  const entityType = given.entityType ?? entityTypes[0];
  const sole = entityType === 'SOLE_PROPRIETOR';
  const person = [given.contactFirstName, given.contactLastName].filter((part) => part !== undefined).join(' ');
  const legalName = (sole ? (given.legalName ?? person) : given.legalName) ?? '';
  const brandName = given.brandName ?? legalName;
  const country = (given.country ?? 'US').toUpperCase();
  const useCase = given.useCase ?? (sole ? 'SOLE_PROPRIETOR' : defaultUseCase);
  const readUse = readWord(useCase, useCases) ?? useCase;
  return {
    ...given,
    kind,
    entityType,
    legalName,
    brandName,
    street: given.street ?? '',
    city: given.city ?? '',
    region: regionCode(country, given.region ?? '') ?? given.region ?? '',
    postalCode: given.postalCode ?? '',
    country,
    contactEmail: given.contactEmail ?? '',
    contactPhone: given.contactPhone ?? (sole ? given.mobilePhone : undefined) ?? '',
    vertical: readWord(given.vertical ?? 'PROFESSIONAL', verticals) ?? given.vertical ?? '',
    useCase: readUse,
    subUseCases: (given.subUseCases ?? (readUse === defaultUseCase ? ['CUSTOMER_CARE'] : [])).map(
      (one) => readWord(one, useCases) ?? one,
    ),
    description:
      given.description ??
      `${brandName} answers people who text this number first: their questions, and what they arranged with ${brandName}. No marketing.`,
    sampleMessages: given.sampleMessages ?? [],
  };
}

function checkBusiness(form: CheckedForm, note: Note): void {
  const sole = isSoleProprietor(form);
  if (form.legalName === '' && !sole) note('legalName', 'Give the name that the business is registered under.');
  for (const field of ['legalName', 'brandName'] as const) {
    const found = sole ? companyFormIn(form[field]) : null;
    if (found !== null) {
      note(
        field,
        `The name of a sole proprietor cannot have ${found} in it. Leave it out, or register as a company with its EIN.`,
      );
    }
  }
  if (form.street === '') note('street', 'Give street and house number of the business.');
  if (form.city === '') note('city', 'Give the city of the business.');
  if (!/^[A-Z]{2}$/.test(form.country)) note('country', `Give the country in two letters, such as US.`);
  if (form.region === '') note('region', 'Give the state of the business, in two letters.');
  else if (regionCode(form.country, form.region) === null) {
    note('region', `${JSON.stringify(form.region)} is not a state of ${form.country}. Give its two letters.`);
  }
  const code = zip[form.country];
  if (form.postalCode === '') note('postalCode', 'Give the postal code of the business.');
  else if (code !== undefined && !code.test(form.postalCode)) {
    note('postalCode', `${JSON.stringify(form.postalCode)} is not a postal code of ${form.country}.`);
  }
  if (readWord(form.vertical, verticals) === null) {
    note(
      'vertical',
      `${JSON.stringify(form.vertical)} is not a line of work that carriers know. Known: ${verticals.join(', ')}.`,
    );
  }
  if (form.entityType !== 'PUBLIC_PROFIT') return;
  if (form.stockSymbol === undefined) note('stockSymbol', 'Give the stock symbol of the company.');
  if (form.stockExchange === undefined) note('stockExchange', 'Give the stock exchange of the company.');
}

function checkContact(form: CheckedForm, e164: string, note: Note): void {
  const sole = isSoleProprietor(form);
  if (!email.test(form.contactEmail)) note('contactEmail', 'Give an e-mail address that carriers can write to.');
  if (readE164(form.contactPhone) === null) {
    note('contactPhone', 'Give a number that exists, with + and country code, such as +12025550123.');
  }
  if (sole || form.kind === 'toll_free') {
    if (form.contactFirstName === undefined) note('contactFirstName', 'Give the first name of the person.');
    if (form.contactLastName === undefined) note('contactLastName', 'Give the last name of the person.');
  }
  if (!sole) return;
  const mobile = form.mobilePhone === undefined ? null : readE164(form.mobilePhone);
  const isMobile = mobile !== null && (mobile.type === 'MOBILE' || mobile.type === 'FIXED_LINE_OR_MOBILE');
  if (mobile === null) {
    note(
      'mobilePhone',
      'Give the mobile number that the code is sent to, with + and country code, such as +12025550123.',
    );
  } else if (!isMobile || (mobile.country !== 'US' && mobile.country !== 'CA')) {
    note(
      'mobilePhone',
      `The code can be sent only to mobile numbers of the US and Canada, and ${mobile.e164} is not one.`,
    );
  } else if (mobile.e164 === e164) {
    note('mobilePhone', 'The code cannot be sent to the number that is registered. Give your own mobile.');
  }
}

function checkEin(
  form: CheckedForm,
  before: NonNullable<PreflightFacts['before']> | null,
  note: Note,
): { readonly masked: string | undefined; readonly ein: string | null } {
  const none = { masked: undefined, ein: null };
  // Outside the form's country: a business elsewhere has a number from its own country there.
  if (isSoleProprietor(form)) {
    if (form.ein !== undefined) note('ein', 'A sole proprietor registers without an EIN. Leave it out.');
    return none;
  }
  const kept = before !== null && before.ein !== undefined;
  if (kept && !before.einNeeded) return { masked: before.ein, ein: null };
  if (form.ein === undefined || isMasked(form.ein)) {
    if (kept && before.full && (form.ein === undefined || form.ein.trim() === before.ein)) {
      return { masked: before.ein, ein: null };
    }
    note(
      'ein',
      kept && !before.full
        ? 'Give the EIN again: its full copy was wiped when the registration was decided.'
        : 'Give the EIN of the business, nine digits such as 12-3456789.',
    );
    return none;
  }
  if (hasSsn(form.ein)) return none; // Reported with the texts.
  const ein = readEin(form.ein);
  if (ein === null) {
    note('ein', 'That is not an EIN, which has nine digits, such as 12-3456789.');
    return none;
  }
  return { masked: maskEin(ein), ein };
}

function checkUse(form: CheckedForm, note: Note): void {
  const sole = isSoleProprietor(form);
  const known = readWord(form.useCase, useCases);
  if (known === null) {
    note(
      'useCase',
      `${JSON.stringify(form.useCase)} is not a use case that carriers know. Known: ${useCases.join(', ')}.`,
    );
  } else if (sole !== (known === 'SOLE_PROPRIETOR')) {
    const text = sole ? 'A sole proprietor must use SOLE_PROPRIETOR.' : 'SOLE_PROPRIETOR is for sole proprietors.';
    note('useCase', `${text} Leave it out, or choose another.`);
  }
  const plain = useCases.filter((one) => !['LOW_VOLUME', 'MIXED', 'SOLE_PROPRIETOR'].includes(one));
  const wrong = form.subUseCases.find((one) => readWord(one, plain) === null);
  if (wrong !== undefined) {
    note(
      'subUseCases',
      `${JSON.stringify(wrong)} is not a use case that MIXED can contain. Known: ${plain.join(', ')}.`,
    );
  }
  if (known === 'MIXED' && new Set(form.subUseCases).size < mixedNeeds) {
    note('subUseCases', `MIXED needs ${mixedNeeds} to 5 use cases within it; there are ${form.subUseCases.length}.`);
  }
}

function checkTexts(form: CheckedForm, note: Note, warnings: Problem[]): void {
  const [least, max] = descriptionLength;
  const maxLength = form.kind === 'toll_free' ? maxSummaryLength : max;
  if (form.description.length < least || form.description.length > maxLength) {
    note(
      'description',
      `Say in ${least} to ${maxLength} characters what the texts are for; there are ${form.description.length}.`,
    );
  }
  const samples = form.sampleMessages;
  if (samples.length < fewestSamples) {
    note('sampleMessages', `Give ${fewestSamples} to 5 texts as people will get them; there are ${samples.length}.`);
  }
  samples.forEach((sample, at) => {
    const [shortest, max] = sampleLength;
    if (sample.length >= shortest && sample.length <= max) return;
    note('sampleMessages', `Sample ${at + 1} has ${sample.length} characters; carriers take ${shortest} to ${max}.`);
  });
  for (const [name, value] of Object.entries(form)) {
    const field = name as keyof RegistrationForm;
    // Stored and never sent.
    if (field === 'optInWorkflow') continue;
    for (const text of [value].flat()) if (typeof text === 'string') checkText(field, text, note, warnings);
  }
  const says = (words: RegExp) => samples.some((sample) => words.test(sample));
  if (samples.length > 0 && !says(/\bSTOP\b/i)) {
    warnings.push({ field: 'sampleMessages', text: 'No sample says how to opt out. Add "Reply STOP to opt out."' });
  }
}

function checkText(field: keyof RegistrationForm, text: string, note: Note, warnings: Problem[]): void {
  if (hasSsn(text)) {
    note(field, 'This looks like a Social Security number. It is never needed here: remove it.');
    return;
  }
  const short = shortenerIn(text);
  if (short !== null) note(field, `${short} shortens links, and carriers refuse those. Write the full address.`);
  for (const { subject, word } of riskyIn(text)) {
    warnings.push({
      field,
      text: `${JSON.stringify(word)}: many carriers refuse texts about ${subject}. Leave it out unless it is what they are about.`,
    });
  }
}

function checkLinks(form: CheckedForm, { number, origin, hosted }: PreflightFacts, note: Note): void {
  const sole = isSoleProprietor(form);
  if (form.website === undefined) {
    if (!sole) note('website', 'Give the website of the business, such as https://example.com.');
  } else if (!isAddress(form.website, ['https:', 'http:'])) {
    note(
      'website',
      `${JSON.stringify(form.website)} is not the address of a website. Write it like https://example.com.`,
    );
  } else if (form.website.length > maxWebsiteLength) {
    note('website', `Carriers take ${maxWebsiteLength} characters; there are ${form.website.length}.`);
  }
  for (const field of ['optInPageUrl', 'termsUrl', 'privacyUrl'] as const) {
    const address = form[field];
    if (address === undefined && !hosted) {
      const page = { optInPageUrl: 'how to opt in', termsUrl: 'the terms', privacyUrl: 'how data is used' }[field];
      note(
        field,
        `Carriers cannot open pages of this Gantry at ${origin}. Give an https page of yours that shows ${page}.`,
      );
    }
    if (address !== undefined && !isAddress(address, ['https:'])) {
      note(
        field,
        `${JSON.stringify(address)} is not a page that carriers can open. Write it like https://example.com/texts.`,
      );
    }
  }
  const flow = messageFlowOf(number.e164, linksOf(form, number.id, origin));
  if (form.kind === 'toll_free' && flow.length > maxTollFreeFlowLength) {
    const over = flow.length - maxTollFreeFlowLength;
    note(
      'optInPageUrl',
      `The page addresses together are ${over} characters too long. Use shorter ones, or leave them out.`,
    );
  }
}

function isAddress(text: string, protocols: readonly string[]): boolean {
  const url = URL.parse(text);
  return (
    url !== null &&
    protocols.includes(url.protocol) &&
    url.username === '' &&
    url.password === '' &&
    /^[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z][a-z0-9-]*$/i.test(url.hostname) &&
    !/\s/.test(text)
  );
}
