/** Limits of texts from the environment: a number's day, and a sole proprietor's day and minute. Pure. */

import { type NumberLimits, numberLimits } from '../cloud-api/phone/part.ts';
import { AppError } from '../contracts/common/errors.ts';

const names = {
  perDay: 'GANTRY_TEXTS_PER_DAY',
  solePerDay: 'GANTRY_SOLE_PROPRIETOR_TEXTS_PER_DAY',
  solePerMinute: 'GANTRY_SOLE_PROPRIETOR_TEXTS_PER_MINUTE',
} as const;
const max = 1_000_000;

/** A variable that is not set keeps its default. Throws `usage`, naming the variable, on a bad value. */
export function readTextLimits(env: Readonly<Record<string, string | undefined>>): NumberLimits {
  function given(name: keyof typeof names, standard: number): number {
    const value = env[names[name]]?.trim() ?? '';
    if (value === '') return standard;
    if (/^[1-9]\d*$/.test(value) && Number(value) <= max) return Number(value);
    const fact = `${names[name]} cannot be ${JSON.stringify(value)}.`;
    throw new AppError('usage', fact, `Give a whole number from 1 to ${max}.`);
  }
  const { standard, soleProprietor } = numberLimits;
  return {
    standard: { perDay: given('perDay', standard.perDay), perMinute: standard.perMinute },
    soleProprietor: {
      perDay: given('solePerDay', soleProprietor.perDay),
      perMinute: given('solePerMinute', soleProprietor.perMinute ?? max),
    },
  };
}
