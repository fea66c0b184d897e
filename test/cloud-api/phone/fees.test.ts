/** What the carrier charges is counted as it charges it: by the month that begins, each fee once, and nothing guessed. */
import { describe, expect, test } from 'vitest';
import { microUsdOf, monthsSince } from '../../../src/cloud-api/phone/fees.ts';

const day = (at: number) => new Date(at).toISOString().slice(0, 10);
const at = (text: string) => Date.parse(`${text}T12:00:00Z`);

describe('months', () => {
  test.each([
    ['2026-01-31', '2026-01-31', ['2026-01-31']],
    ['2026-01-31', '2026-03-31', ['2026-01-31', '2026-02-28', '2026-03-31']],
    ['2028-01-30', '2028-03-01', ['2028-01-30', '2028-02-29']],
    ['2026-11-23', '2027-01-22', ['2026-11-23', '2026-12-23']],
    ['2026-11-23', '2026-11-22', []],
  ])('since %s, on %s: %j', (since, now, expected) => {
    expect(monthsSince(at(since), at(now)).map(day)).toEqual(expected);
  });

  test('begin at the hour at which the first one did', () => {
    expect(monthsSince(at('2026-01-15'), at('2026-02-15') - 1)).toHaveLength(1);
    expect(monthsSince(at('2026-01-15'), at('2026-02-15'))).toHaveLength(2);
  });
});

test.each([
  ['0.0040', 'USD', 4_000],
  ['1.00 USD', undefined, 1_000_000],
  ['0', undefined, 0],
  ['1.00 EUR', undefined, null],
  ['1.00', 'CAD', null],
  ['-1', undefined, null],
  ['NaN', undefined, null],
  [null, undefined, null],
  ['', undefined, null],
])('a price of %s in %s is %s millionths', (amount, currency, expected) => {
  expect(microUsdOf(amount, currency)).toBe(expected);
});
