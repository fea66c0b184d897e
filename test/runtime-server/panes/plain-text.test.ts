import fc from 'fast-check';
import { expect, test } from 'vitest';
import { plainText } from '../../../src/runtime-server/panes/plain-text.ts';

const whole = (bytes: Uint8Array) => plainText(bytes, true).text;
const of = (text: string) => whole(Buffer.from(text));

test.each([
  ['colours', '\x1b[31mred\x1b[0m', 'red'],
  ['cursor moves', 'a\x1b[2;3Hb', 'ab'],
  ['titles ended by BEL', '\x1b]0;title\x07text', 'text'],
  ['titles ended by ST', '\x1b]0;title\x1b\\text', 'text'],
  ['device control strings', '\x1bPq#0;2\x1b\\text', 'text'],
  ['character set selections', '\x1b(Btext', 'text'],
  ['two-character sequences', '\x1b7text\x1b8', 'text'],
  ['a sequence broken off by another', '\x1b[3\x1b[1mtext', 'text'],
  ['bell, backspace and delete', 'a\x07b\bc\x7fd', 'abcd'],
  ['C1 controls', 'a\u0085b\u009b31mc', 'ab31mc'],
  ['line ends of a terminal', 'a\r\nb\r\r\nc\n', 'a\nb\nc\n'],
  ['a line drawn again', '10%\r20%\r\n', '10%\n20%\n'],
  ['a line begun anew before anything stands on it', 'a\r\n\r\x1b[K\rb\r\n\r\n', 'a\nb\n\n'],
])('%s leave only text', (_what, input, text) => {
  expect(of(input)).toBe(text);
});

test('newlines and tabs stay', () => {
  expect(of('a\tb\n')).toBe('a\tb\n');
});

/** Pieces that terminals print, whole and broken. */
const piece = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.constantFrom('\x1b[31m', '\x1b]0;t\x07', '\x1b]8;;u\x1b\\', '\r\n', '\r', 'é', '言', '😀', '\x1b', '\x1b[', '\t'),
);

test('no control character but newline and tab ever comes through', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      expect(whole(bytes)).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/);
    }),
  );
});

test('text read in pieces is the text read at once, wherever it is cut', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 20 }), fc.array(fc.nat(40), { maxLength: 30 }), (pieces, cuts) => {
      const bytes = Buffer.from(pieces.join(''));
      let text = '';
      let from = 0;
      let to = 0;
      let lineStart = true;
      for (const cut of cuts) {
        to = Math.min(bytes.length, to + cut);
        const part = plainText(bytes.subarray(from, to), false, lineStart);
        text += part.text;
        lineStart = part.lineStart;
        from += part.used;
      }
      text += plainText(bytes.subarray(from), true, lineStart).text;
      expect(text).toBe(whole(bytes));
    }),
  );
});

test('an unfinished sequence is waited for, but not for ever', () => {
  expect(plainText(Buffer.from('a\x1b]0;begun'), false)).toMatchObject({ text: 'a', used: 1 });
  const endless = Buffer.from(`\x1b]0;${'x'.repeat(10_000)}`);
  expect(plainText(endless, false).used).toBeGreaterThan(0);
});
