/**
 * Colours of the command line. A text is marked while it is made and coloured only after it was made harmless: a mark carries a word that
 * is new for each process, so that nothing a bot wrote can pass for one. Must not know what is shown.
 */
import { randomBytes } from 'node:crypto';
import type { Env } from './connect.ts';

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;
type Colour = keyof typeof codes;

const word = randomBytes(9).toString('base64url');
const marks = new RegExp(`\\uE0F0${word}(\\d+)\\uE0F1`, 'g');
const mark = (code: number) => `\uE0F0${word}${code}\uE0F1`;

/** Marks one line or part of one; the text is already harmless. */
export function paint(colour: Colour, text: string): string {
  return text === '' ? '' : `${mark(codes[colour])}${text}${mark(0)}`;
}

/** Turns the marks of a harmless text into a terminal's colours, or takes them out. */
export function coloured(text: string, colours: boolean): string {
  return text.replace(marks, (_whole, code: string) => (colours ? `\x1b[${code}m` : ''));
}

/** `NO_COLOR` and `FORCE_COLOR` as other programs read them; otherwise only on a terminal that has colours. */
export function wantsColours(stream: { readonly isTTY?: boolean }, env: Env): boolean {
  if ((env.NO_COLOR ?? '') !== '') return false;
  const forced = env.FORCE_COLOR ?? '';
  if (forced !== '') return forced !== '0' && forced !== 'false';
  return stream.isTTY === true && env.TERM !== 'dumb';
}

const meanings: readonly (readonly [Colour, RegExp])[] = [
  ['red', /^(?:failed|broken|error|expired|denied|rejected|lost|invalid)\b/],
  ['yellow', /^(?:needs you|needs_you|waiting|unconfirmed|missed|degraded|stuck|warn|missing|held|pending|blocked)\b/],
  ['green', /^(?:done|verified|ok|approved|proven|connected|yes)\b/],
  ['cyan', /^(?:working|checking|running|starting|started|claimed|leased|queued|accepted)\b/],
  ['dim', /^(?:offline|cancelled|skipped|discarded|disabled|none|no)\b/],
];

/** The colour of a state by its words; a state with another name has none. */
export function stateColour(state: string): Colour | null {
  return meanings.find(([, words]) => words.test(state))?.[0] ?? null;
}
