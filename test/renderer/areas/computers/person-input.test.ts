/** What a keyboard on glass did to a field, as keys for the computer that is controlled. */
import { expect, test } from 'vitest';
import { backCall, typedBetween } from '../../../../src/renderer/areas/computers/person-input.ts';

test.each([
  ['letters at the end', '  ', '  ab', { back: 0, text: 'ab' }],
  ['a letter less', '  ab', '  a', { back: 1, text: '' }],
  ['a deletion where nothing was typed', '  ', ' ', { back: 1, text: '' }],
  ['a word that is corrected', '  teh', '  the ', { back: 2, text: 'he ' }],
  ['an emoji taken back whole', '  👩🏽', '  ', { back: 2, text: '' }],
  ['a composed letter', '  e', '  é', { back: 1, text: 'é' }],
  ['a line', '  a', '  a\nb', { back: 0, text: '\nb' }],
  ['nothing', '  a', '  a', { back: 0, text: '' }],
])('%s', (_name, before, after, wanted) => expect(typedBetween(before, after)).toEqual(wanted));

test('a deletion is one call, and never longer than a call may be', () => {
  expect(backCall('browser', 3)).toEqual({
    toolset: 'browser',
    member: 'key',
    input: { text: 'BackSpace', repeat: 3 },
  });
  expect(backCall('computer', 1000).input).toEqual({ text: 'BackSpace', repeat: 100 });
});
