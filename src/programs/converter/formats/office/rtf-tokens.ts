/** Owns the syntax of RTF (1.9.1): bytes to tokens. Must not know what any control word means. */

export type RtfToken =
  | { readonly kind: 'open' }
  | { readonly kind: 'close' }
  /** `parameter` is null where none stands. */
  | { readonly kind: 'word'; readonly word: string; readonly parameter: number | null }
  /** One that is no letter: `\~`, `\*`. */
  | { readonly kind: 'symbol'; readonly symbol: string }
  /** A byte of text in whatever encoding holds there. `written`: as `\'hh`. */
  | { readonly kind: 'byte'; readonly byte: number };

const open: RtfToken = { kind: 'open' };
const close: RtfToken = { kind: 'close' };
const maxWordLength = 32;

const isLetter = (byte: number) => (byte >= 0x61 && byte <= 0x7a) || (byte >= 0x41 && byte <= 0x5a);
const isDigit = (byte: number) => byte >= 0x30 && byte <= 0x39;

export function* rtfTokens(bytes: Uint8Array): Generator<RtfToken> {
  let at = 0;
  while (at < bytes.length) {
    const byte = bytes[at] as number;
    at += 1;
    if (byte === 0x7b) yield open;
    else if (byte === 0x7d) yield close;
    else if (byte === 0x5c) {
      const next = bytes[at];
      if (next === undefined) return;
      if (isLetter(next)) {
        const start = at;
        while (at < bytes.length && at - start < maxWordLength && isLetter(bytes[at] as number)) at += 1;
        const word = String.fromCharCode(...bytes.subarray(start, at));
        const number = at;
        if (bytes[at] === 0x2d && isDigit(bytes[at + 1] ?? 0)) at += 1;
        while (at < bytes.length && at - number < 11 && isDigit(bytes[at] as number)) at += 1;
        const parameter =
          at === number ? null : Number.parseInt(String.fromCharCode(...bytes.subarray(number, at)), 10);
        if (bytes[at] === 0x20) at += 1;
        // Raw data may hold anything, braces too.
        if (word === 'bin') at += Math.max(0, parameter ?? 0);
        else yield { kind: 'word', word, parameter };
      } else if (next === 0x27) {
        const value = Number.parseInt(String.fromCharCode(bytes[at + 1] ?? 0x30, bytes[at + 2] ?? 0x30), 16);
        at += 3;
        if (!Number.isNaN(value)) yield { kind: 'byte', byte: value };
      } else {
        at += 1;
        // A line end after a backslash is a paragraph's end.
        if (next === 0x0a || next === 0x0d) yield { kind: 'word', word: 'par', parameter: null };
        else if (next === 0x5c || next === 0x7b || next === 0x7d) yield { kind: 'byte', byte: next };
        else yield { kind: 'symbol', symbol: String.fromCharCode(next) };
      }
    } else if (byte !== 0x0a && byte !== 0x0d && byte !== 0) yield { kind: 'byte', byte };
  }
}
