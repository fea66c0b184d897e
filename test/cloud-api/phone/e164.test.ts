import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { maskNumber, readE164, refusedDestination } from '../../../src/cloud-api/phone/e164.ts';

describe('a number is read only as it is dialled', () => {
  test.each([
    ['+12025550123', 'US', 'FIXED_LINE_OR_MOBILE'],
    ['+14165550123', 'CA', 'FIXED_LINE_OR_MOBILE'],
    ['+18005550199', 'US', 'TOLL_FREE'],
    ['+442079460000', 'GB', 'FIXED_LINE'],
    ['+18765551234', 'JM', 'MOBILE'],
    ['+881612345678', null, 'MOBILE'],
  ])('%s is of %s', (e164, country, type) => {
    expect(readE164(e164)).toEqual({ e164, country, type });
  });

  test.each([
    '12025550123',
    '+1 202 555 0123',
    'tel:+12025550123',
    '+12025550123;ext=5',
    '+1202555012',
    '+120255501234',
    '+0123456789',
    '+17115550123',
    '+12025550123\n',
    '＋１２０２５５５０１２３',
    '',
    '+',
    '12345',
    'GANTRY',
  ])('%j is no number', (text) => {
    expect(readE164(text)).toBeNull();
  });

  test('whatever is given, it is read as itself or not at all', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ maxLength: 30 }), fc.stringMatching(/^\+?[0-9 ()-]{0,20}$/)), (text) => {
        const read = readE164(text);
        expect(read === null || read.e164 === text).toBe(true);
        if (read === null) expect(refusedDestination(text)).not.toBeNull();
      }),
    );
  });
});

describe('what costs who reaches it is never reached', () => {
  test.each(['+12025550123', '+14165550123', '+18335550100'])('%s may be', (e164) => {
    expect(refusedDestination(e164)).toBeNull();
  });

  test.each([
    ['+18765551234', 'JM'],
    ['+18095551234', 'DO'],
    ['+14412345678', 'BM'],
    ['+13405551234', 'VI'],
    ['+442079460000', 'GB'],
    ['+881612345678', 'no country'],
    ['+19005551234', 'PREMIUM_RATE'],
    ['+15005550006', 'PERSONAL_NUMBER'],
    ['+12029765555', 'costs'],
    ['+12025551212', 'costs'],
    ['+16009005555', 'costs'],
    ['911', 'not a number'],
    ['+19765551234', 'not a number'],
  ])('%s may not: %s', (e164, why) => {
    expect(refusedDestination(e164)).toContain(why);
  });

  test('countries are the setting’s, and premium numbers are none of them', () => {
    expect(refusedDestination('+442079460000', ['GB'])).toBeNull();
    expect(refusedDestination('+449012345678', ['GB'])).toContain('PREMIUM_RATE');
    expect(refusedDestination('+12025550123', ['GB'])).toContain('US');
  });
});

test('logs keep the last four digits', () => {
  expect(maskNumber('+12025550123')).toBe('…0123');
  expect(maskNumber('1234')).toBe('1234');
});
