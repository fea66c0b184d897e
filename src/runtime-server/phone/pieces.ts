/** Cuts a bot's message into texts that carriers take: at most 1,600 characters and ten parts each. Pure. */
import { maxTextLength } from '../../contracts/phone/values.ts';

/**
 * Ten parts hold 1,530 characters of the seven-bit GSM alphabet (153 a part) and 670 of any other (67 a part). A character of
 * several units, such as a family emoji, is not split between two parts, so up to ten units of each part may stay empty.
 */
const maxPlainLength = 1_530;
const maxOtherLength = 560;
/** An answer of more is no text message. */
export const maxPieces = 4;

/** Characters that every carrier writes in seven bits; any other makes the whole text use its other alphabet. */
const plain = /^[\n\r\x20-\x5a\x61-\x7a_@£$¥èéùìòÇØøÅåÆæßÉÄÖÑÜ§¿äöñüà¡]*$/;

/** In order; the last ends with an ellipsis where the rest was left out. Empty for a blank text. */
export function piecesOf(text: string): readonly string[] {
  const said = text.trim();
  if (said === '') return [];
  const isPlain = plain.test(said);
  const maxLength = Math.min(maxTextLength, isPlain ? maxPlainLength : maxOtherLength);
  // The one letter would cost the whole text its alphabet.
  const ellipsis = isPlain ? '...' : '…';
  const pieces: string[] = [];
  let rest = said;
  while (rest.length > maxLength && pieces.length < maxPieces - 1) {
    const at = cutAt(rest, maxLength);
    pieces.push(rest.slice(0, at).trimEnd());
    rest = rest.slice(at).trimStart();
  }
  const left = () => rest.slice(0, cutAt(rest, maxLength - ellipsis.length)).trimEnd();
  pieces.push(rest.length > maxLength ? `${left()}${ellipsis}` : rest);
  return pieces;
}

/** After a paragraph, a sentence or a word of the second half; never within a character of two units. */
function cutAt(text: string, maxLength: number): number {
  const head = text.slice(0, maxLength);
  for (const mark of ['\n\n', '\n', '. ', ' ']) {
    const at = head.lastIndexOf(mark);
    if (at > maxLength / 2) return at + mark.length;
  }
  const last = head.charCodeAt(maxLength - 1);
  return last >= 0xd800 && last <= 0xdbff ? maxLength - 1 : maxLength;
}
