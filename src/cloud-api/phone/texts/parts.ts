/** How many parts a text takes: an estimate of what the carrier will count. Pure. */
import { SegmentedMessage } from 'sms-segments-calculator';
import { longestText, mostParts } from '../../../contracts/phone/values.ts';

/** An estimate: the carrier's own count wins. */
export function partsOf(text: string): number {
  return new SegmentedMessage(text).segmentsCount;
}

/** GSM-7 letters in all its parts together, or UTF-16 units if one letter is not in GSM-7. */
const mostGsm7 = mostParts * 153;
const mostUnits = mostParts * 67;
/** No GSM-7 letter is among these, so nothing needs to be counted letter by letter. */
const surelyWide = /[^\u0000-\u03ff\u20ac]/;

/** Why it is too long, in a sentence; null: it may be sent. */
export function tooLong(text: string): string | null {
  const letters = text.length > longestText ? [...text].length : text.length;
  if (letters > longestText) return `The text has ${letters} characters; the limit is ${longestText}.`;
  const surely = text.length > mostGsm7 || (text.length > mostUnits && surelyWide.test(text));
  const parts = surely ? null : partsOf(text);
  if (parts !== null && parts <= mostParts) return null;
  return `The text would be sent in ${parts ?? `more than ${mostParts}`} parts; the limit is ${mostParts}.`;
}
