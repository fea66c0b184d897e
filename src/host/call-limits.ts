/** Limits of calls from the environment: a person's concurrent calls, a number's outbound calls a day, and a call's duration. Pure. */
import { type CallLimits, defaultCallLimits } from '../cloud-api/phone/part.ts';
import { AppError } from '../contracts/common/errors.ts';

const names = {
  atOnce: 'GANTRY_CALLS_AT_ONCE',
  perDay: 'GANTRY_CALLS_PER_DAY',
  minutes: 'GANTRY_CALL_MINUTES',
} as const;
const minuteMs = 60_000;
const max = { atOnce: 1_000, perDay: 100_000, minutes: 240 } as const;

/** The usual ones where nothing is said. Throws `usage`, naming the variable. No call takes longer than four hours. */
export function readCallLimits(env: Readonly<Record<string, string | undefined>>): CallLimits {
  function given(name: keyof typeof names, fallback: number): number {
    const value = env[names[name]]?.trim() ?? '';
    if (value === '') return fallback;
    if (/^[1-9]\d{0,9}$/.test(value) && Number(value) <= max[name]) return Number(value);
    const fact = `${names[name]} cannot be ${JSON.stringify(value)}.`;
    throw new AppError('usage', fact, `Give a whole number from 1 to ${max[name]}.`);
  }
  const { maxConcurrent, perDay, maxCallMs } = defaultCallLimits;
  return {
    maxConcurrent: given('atOnce', maxConcurrent),
    perDay: given('perDay', perDay),
    maxCallMs: given('minutes', maxCallMs / minuteMs) * minuteMs,
  };
}
