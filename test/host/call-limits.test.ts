import { expect, test } from 'vitest';
import { readCallLimits } from '../../src/host/call-limits.ts';

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
