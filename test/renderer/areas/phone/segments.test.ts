import fc from 'fast-check';
import { SegmentedMessage } from 'sms-segments-calculator';
import { expect, test } from 'vitest';
import { segmentsOf } from '../../../../src/renderer/areas/phone/segments.ts';

const parts = (text: string): number => segmentsOf(text).parts;

test('a text has as many parts as phones put together', () => {
  expect(parts('')).toBe(0);
  expect(parts('a'.repeat(160))).toBe(1);
  expect(parts('a'.repeat(161))).toBe(2);
  expect(parts('a'.repeat(306))).toBe(2);
  expect(parts('a'.repeat(307))).toBe(3);
  expect(parts('é'.repeat(160))).toBe(1);
  expect(parts('ж'.repeat(70))).toBe(1);
  expect(parts('ж'.repeat(71))).toBe(2);
  expect(parts('\u{1F600}'.repeat(35))).toBe(1);
  expect(parts('\u{1F600}'.repeat(36))).toBe(2);
});

test('what takes two places is never cut in two', () => {
  expect(parts('€'.repeat(80))).toBe(1);
  expect(parts('€'.repeat(81))).toBe(2);
  // 76 pairs and one free place in each part of 153.
  expect(parts('€'.repeat(152))).toBe(2);
  expect(parts('€'.repeat(153))).toBe(3);
  expect(parts('\u{1F600}'.repeat(66))).toBe(2);
  expect(parts('\u{1F600}'.repeat(67))).toBe(3);
});

test('it says what still fits, and that one character makes the rest dearer', () => {
  expect(segmentsOf('hello')).toEqual({ parts: 1, wide: false, left: 155 });
  expect(segmentsOf('hello “')).toEqual({ parts: 1, wide: true, left: 63 });
  expect(segmentsOf('a'.repeat(161))).toEqual({ parts: 2, wide: false, left: 145 });
});

test('the estimate is the count of the cloud for every text', () => {
  const letters = 'ab1 éà€^[~|"жλ“\u{1F600}漢\n';
  const text = fc.array(fc.constantFrom(...letters), { minLength: 1, maxLength: 700 }).map((all) => all.join(''));
  fc.assert(fc.property(text, (one) => parts(one) === new SegmentedMessage(one).segmentsCount));
});
