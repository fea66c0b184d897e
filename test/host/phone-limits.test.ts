import { expect, test } from 'vitest';
import { readCallLimits, readTextLimits } from '../../src/host/phone-settings.ts';

test('limits of texts keep their defaults unless settings say otherwise', () => {
  expect(readTextLimits({})).toEqual({
    standard: { perDay: 1000, perMinute: null },
    soleProprietor: { perDay: 200, perMinute: 15 },
  });
  const env = { GANTRY_TEXTS_PER_DAY: '40', GANTRY_SOLE_PROPRIETOR_TEXTS_PER_MINUTE: ' 3 ' };
  expect(readTextLimits(env)).toEqual({
    standard: { perDay: 40, perMinute: null },
    soleProprietor: { perDay: 200, perMinute: 3 },
  });
});

test.each(['0', '-1', '1.5', 'many', '1e3', '10000000'])('%j is none, and the variable is named', (value) => {
  expect(() => readTextLimits({ GANTRY_SOLE_PROPRIETOR_TEXTS_PER_DAY: value })).toThrow(
    `GANTRY_SOLE_PROPRIETOR_TEXTS_PER_DAY cannot be "${value}".`,
  );
});

test('limits of calls are the usual ones unless settings say otherwise', () => {
  expect(readCallLimits({})).toEqual({ maxConcurrent: 5, perDay: 100, maxCallMs: 4 * 60 * 60_000 });
  const env = { GANTRY_CALLS_AT_ONCE: '2', GANTRY_CALLS_PER_DAY: ' 7 ', GANTRY_CALL_MINUTES: '30' };
  expect(readCallLimits(env)).toEqual({ maxConcurrent: 2, perDay: 7, maxCallMs: 30 * 60_000 });
});

test.each([
  ['GANTRY_CALLS_AT_ONCE', '0'],
  ['GANTRY_CALLS_PER_DAY', 'many'],
  ['GANTRY_CALL_MINUTES', '241'],
])('%s=%s is none, and the variable is named', (name, value) => {
  expect(() => readCallLimits({ [name]: value })).toThrow(`${name} cannot be "${value}".`);
});
