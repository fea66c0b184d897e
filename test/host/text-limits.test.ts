import { expect, test } from 'vitest';
import { readTextLimits } from '../../src/host/text-limits.ts';

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
