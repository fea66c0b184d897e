/**
 * Which numbers can exist, and which of them are never texted or called, because fraud earns money from them. Decided by country, never by prefix: +1
 * is also Jamaica. Pure. Must not know who asks.
 */
import { type CountryCode, type NumberType, parsePhoneNumberFromString } from 'libphonenumber-js/max';

interface ReadNumber {
  /** The text as given. */
  readonly e164: string;
  /** ISO 3166, two letters; null: no country, as for satellites. */
  readonly country: CountryCode | null;
  /** The library's word, `TOLL_FREE`; null: unknown. */
  readonly type: Exclude<NumberType, undefined> | null;
}

/** The countries that bots may text and call unless a setting says otherwise. */
export const defaultCountries: readonly string[] = ['US', 'CA'];

/** The types that ordinary people and businesses have; premium, shared cost, personal and company-wide numbers cost the caller. */
const ordinary: ReadonlySet<string> = new Set(['FIXED_LINE', 'MOBILE', 'FIXED_LINE_OR_MOBILE', 'VOIP', 'TOLL_FREE']);
/** Area codes of North America without a place: premium, by carrier, government, satellite and data. */
const placeless = /^\+1(?:900|700|710|6(?:00|22|33|44|55|77|88))/;
/** Exchanges of any area code that bill the caller: premium, and directory assistance. */
const billing = /^\+1\d{3}(?:976|5551212$)/;

/** Exactly as it is dialled: `+`, country code and digits, of a number that can exist. Null: anything else. */
export function readE164(text: string): ReadNumber | null {
  if (!/^\+[1-9]\d{6,14}$/.test(text)) return null;
  const parsed = parsePhoneNumberFromString(text);
  // The parser reads past extensions and trunk prefixes: its result must equal the input.
  if (parsed === undefined || !parsed.isValid() || parsed.number !== text) return null;
  return { e164: text, country: parsed.country ?? null, type: parsed.getType() ?? null };
}

/** Why nothing may be sent there, in a sentence; null: it may. */
export function refusedDestination(
  e164: string,
  allowedCountries: readonly string[] = defaultCountries,
): string | null {
  const read = readE164(e164);
  if (read === null) return `${JSON.stringify(e164.slice(0, 40))} is not a number that can be reached.`;
  if (read.country === null)
    return `${e164} belongs to no country: satellites and services cannot be reached from here.`;
  if (!allowedCountries.includes(read.country)) {
    return `${e164} is a number of ${read.country}; only ${allowedCountries.join(', ')} may be reached from here.`;
  }
  if (read.type === null || !ordinary.has(read.type) || placeless.test(e164) || billing.test(e164)) {
    return `${e164} is a number that costs extra to reach${read.type === null ? '' : ` (${read.type})`}.`;
  }
  return null;
}

/** For logs: the last four digits. */
export function maskNumber(sender: string): string {
  return sender.length <= 4 ? sender : `…${sender.slice(-4)}`;
}
