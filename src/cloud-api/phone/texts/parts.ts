/** How many parts a text takes: an estimate of what the carrier will count. Pure. */
import { SegmentedMessage } from 'sms-segments-calculator';
import { maxParts, maxTextLength } from '../../../contracts/phone/values.ts';

/** An estimate: the carrier's own count wins. */
export function partsOf(text: string): number {
  return new SegmentedMessage(text).segmentsCount;
}

/** GSM-7 letters in all its parts together, or UTF-16 units if one letter is not in GSM-7. */
const maxGsm7 = maxParts * 153;
const maxUnits = maxParts * 67;
/** No GSM-7 letter is among these, so nothing needs to be counted letter by letter. */
const surelyWide = /[^\u0000-\u03ff\u20ac]/;

/** Why it is too long, in a sentence; null: it may be sent. */
export function tooLong(text: string): string | null {
  const letters = text.length > maxTextLength ? [...text].length : text.length;
  if (letters > maxTextLength) return `The text has ${letters} characters; the limit is ${maxTextLength}.`;
  const surely = text.length > maxGsm7 || (text.length > maxUnits && surelyWide.test(text));
  const parts = surely ? null : partsOf(text);
  if (parts !== null && parts <= maxParts) return null;
  return `The text would be sent in ${parts ?? `more than ${maxParts}`} parts; the limit is ${maxParts}.`;
}
