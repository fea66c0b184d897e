import fc from 'fast-check';
import { expect, test } from 'vitest';
import { tooLong } from '../../../src/cloud-api/phone/texts/parts.ts';
import { maxPieces, piecesOf } from '../../../src/runtime-server/phone/outgoing.ts';

test('a short answer is one text, and one that says nothing is none', () => {
  expect(piecesOf('  Tomorrow at nine.\n')).toEqual(['Tomorrow at nine.']);
  expect(piecesOf(' \n ')).toEqual([]);
});

test('a long answer is cut between sentences, and what is more than four texts ends with an ellipsis', () => {
  const sentence = 'This is one sentence of a long answer. ';
  const pieces = piecesOf(sentence.repeat(300));
  expect(pieces).toHaveLength(maxPieces);
  for (const piece of pieces.slice(0, -1)) expect(piece).toMatch(/answer\.$/);
  expect(pieces.at(-1)).toMatch(/\.\.\.$/);
  expect(piecesOf('Страница текста. '.repeat(300)).at(-1)).toMatch(/…$/);
});

test.each([
  'This is one sentence of a long answer. ',
  '😀',
  '👨‍👩‍👧‍👦',
  'a😀',
  'é',
  '家',
  '[{€}] ',
  'one\n',
  'Grüße, ',
  '🇨🇦 ',
])('the cloud takes each text that an answer of %j is cut into', (unit) => {
  for (const times of [1, 100, 335, 400, 1000, 4000]) {
    expect(
      piecesOf(unit.repeat(times))
        .map(tooLong)
        .filter((why) => why !== null),
    ).toEqual([]);
  }
});

test('no text is longer than ten parts hold, no letter is torn apart, and nothing but blanks is lost between them', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom('word ', 'a', '🙂', 'é.', '\n', '家 '), { maxLength: 2500 }), (said) => {
      const text = said.join('');
      const pieces = piecesOf(text);
      const packed = (value: string) => value.replace(/\s+/g, '');
      const whole = packed(pieces.join(''));
      for (const piece of pieces) {
        expect(piece.length).toBeLessThanOrEqual(1530);
        expect(piece.isWellFormed()).toBe(true);
      }
      const cut = /(?:…|\.\.\.)$/.exec(whole)?.[0];
      if (cut !== undefined) expect(packed(text).startsWith(whole.slice(0, -cut.length))).toBe(true);
      else expect(whole).toBe(packed(text));
    }),
    { numRuns: 60 },
  );
});
