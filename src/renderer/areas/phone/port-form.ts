/** Turns the typed fields of a port into what is sent to the other carrier. Pure. */
import type { Port, PortDetails } from '../../../contracts/phone/number.ts';
import { noNumber, portFields, readNumber } from './phone-words.ts';

export type PortField = keyof PortDetails;
/** Empty: not given now, and what was given before stays. A file is its Base64. */
export type PortDraft = Readonly<Record<PortField, string>>;

export const emptyPort = Object.fromEntries(portFields.map(({ name }) => [name, ''])) as PortDraft;

/** In place of a file that is being read: handed in now, the port would go without it. */
export const unread = '…';

/** Characters of Base64 that the route takes; that is 5 MB of PDF. */
export const maxFileLength = 7_000_000;

const lengths: Partial<Record<PortField, readonly [least: number, max: number]>> = {
  entityName: [1, 200],
  authorizedPerson: [1, 200],
  accountNumber: [1, 100],
  pin: [1, 30],
  street: [1, 200],
  locality: [1, 100],
  region: [2, 50],
  postalCode: [3, 12],
};

export function problemsOfPort(draft: PortDraft): Partial<Record<PortField, string>> {
  const problems: Partial<Record<PortField, string>> = {};
  for (const { name } of portFields) {
    const text = draft[name].trim();
    if (text === '') continue;
    const [least, max] = lengths[name] ?? [0, maxFileLength];
    if (text === unread) problems[name] = 'The file is being read.';
    if (text.length < least) problems[name] = `At least ${least} characters.`;
    if (text.length > max)
      problems[name] = max === maxFileLength ? 'The file is larger than 5 MB.' : `At most ${max} characters.`;
  }
  if (draft.billingNumber.trim() !== '' && readNumber(draft.billingNumber) === null) problems.billingNumber = noNumber;
  if (!/^([A-Za-z]{2})?$/.test(draft.country.trim())) problems.country = 'Two letters: US or CA.';
  return problems;
}

export function detailsOf(draft: PortDraft): PortDetails {
  const given = portFields.flatMap(({ name }): readonly [PortField, string][] => {
    const text = draft[name].trim();
    if (text === '') return [];
    if (name === 'billingNumber') return [[name, readNumber(text) ?? text]];
    return [[name, name === 'country' ? text.toUpperCase() : text]];
  });
  return Object.fromEntries(given);
}

/** The fields that somebody has to fill or correct now, each with what is wrong with what was given; null: nothing was. */
export function wantedOf({
  missing,
  problems,
}: Pick<Port, 'missing' | 'problems'>): ReadonlyMap<string, string | null> {
  const wanted = new Map<string, string | null>(missing.map((field) => [field, null]));
  for (const { field, text } of problems) if (field !== null) wanted.set(field, text);
  return wanted;
}
