/** How many parts a text takes: what the carrier will count, as far as that can be known before. Pure. */
import { SegmentedMessage } from 'sms-segments-calculator';
import { longestText, mostParts } from '../../../contracts/phone/values.ts';

/** An estimate: the carrier's own count wins. */
export function partsOf(text: string): number {
  return new SegmentedMessage(text).segmentsCount;
}

/** Letters of GSM-7 in all its parts together, and units of UTF-16 where one letter is none of them. */
const mostGsm7 = mostParts * 153;
const mostUnits = mostParts * 67;
/** None of GSM-7 is among these, so that nothing needs to be counted letter by letter. */
const surelyWide = /[^\u0000-\u03ff\u20ac]/;

/** Why it is too long, in a sentence; null: it may be sent. */
export function tooLong(text: string): string | null {
  const letters = text.length > longestText ? [...text].length : text.length;
  if (letters > longestText) return `The text has ${letters} characters; ${longestText} are the most.`;
  const surely = text.length > mostGsm7 || (text.length > mostUnits && surelyWide.test(text));
  const parts = surely ? null : partsOf(text);
  if (parts !== null && parts <= mostParts) return null;
  return `The text would be sent in ${parts ?? `more than ${mostParts}`} parts; ${mostParts} are the most.`;
}
