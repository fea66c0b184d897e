/** Limits of texts and calls from the environment, whichever carrier does them, the demo's too. Pure. */
import { type CallLimits, defaultCallLimits, type NumberLimits, numberLimits } from '../cloud-api/phone/part.ts';
import { AppError } from '../contracts/common/errors.ts';

type Env = Readonly<Record<string, string | undefined>>;

const minuteMs = 60_000;
const maxTexts = 1_000_000;

/** A variable that is not set keeps its default. Throws `usage`, naming the variable, on a bad value. */
function given(env: Env, name: string, max: number, standard: number): number {
  const value = env[name]?.trim() ?? '';
  if (value === '') return standard;
  if (/^[1-9]\d{0,9}$/.test(value) && Number(value) <= max) return Number(value);
  throw new AppError('usage', `${name} cannot be ${JSON.stringify(value)}.`, `Give a whole number from 1 to ${max}.`);
}

/** A number's day, and a sole proprietor's day and minute. */
export function readTextLimits(env: Env): NumberLimits {
  const { standard, soleProprietor } = numberLimits;
  const perMinute = soleProprietor.perMinute ?? maxTexts;
  return {
    standard: {
      perDay: given(env, 'GANTRY_TEXTS_PER_DAY', maxTexts, standard.perDay),
      perMinute: standard.perMinute,
    },
    soleProprietor: {
      perDay: given(env, 'GANTRY_SOLE_PROPRIETOR_TEXTS_PER_DAY', maxTexts, soleProprietor.perDay),
      perMinute: given(env, 'GANTRY_SOLE_PROPRIETOR_TEXTS_PER_MINUTE', maxTexts, perMinute),
    },
  };
}

/** A person's concurrent calls, a number's outbound calls a day, and a call's duration: at most four hours. */
export function readCallLimits(env: Env): CallLimits {
  const { maxConcurrent, perDay, maxCallMs } = defaultCallLimits;
  return {
    maxConcurrent: given(env, 'GANTRY_CALLS_AT_ONCE', 1_000, maxConcurrent),
    perDay: given(env, 'GANTRY_CALLS_PER_DAY', 100_000, perDay),
    maxCallMs: given(env, 'GANTRY_CALL_MINUTES', 240, maxCallMs / minuteMs) * minuteMs,
  };
}
