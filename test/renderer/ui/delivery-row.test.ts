import { expect, test } from 'vitest';
import { deliveryEvidences } from '../../../src/contracts/factory/delivery.ts';
import { detailWords, witnessWords } from '../../../src/renderer/ui/delivery-row.tsx';

test('every kind of evidence has a witness in words, and no evidence has none', () => {
  const words = deliveryEvidences.map((evidence) => witnessWords(evidence, 'claude'));
  expect(new Set(words).size).toBe(deliveryEvidences.length);
  expect(words.every((one) => one !== null)).toBe(true);
  expect(witnessWords('transcript', 'claude')).toBe('seen in its transcript');
  expect(witnessWords('hook', 'shell')).toBe('its shell reported it');
  expect(witnessWords(null, 'shell')).toBeNull();
});

test.each([
  ['working', 'it is working'],
  ['needs_you: run `npm publish`?', 'needs you: run `npm publish`?'],
  ['blocked: usage limit', 'blocked: usage limit'],
  ['a person is typing', 'a person is typing'],
  ['unclear', 'unclear'],
  [undefined, null],
])('the detail %j reads %j', (detail, words) => {
  expect(detailWords(detail)).toBe(words);
});
