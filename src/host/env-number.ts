/** Numbers in the environment. Must not know what they are for. */
import { AppError } from '../contracts/common/errors.ts';

type Env = Readonly<Record<string, string | undefined>>;

/** Null if it is not set. Throws `usage`, with `what` in words, if it is no whole number of that range. */
export function whole(env: Env, name: string, what: string, least: number, most: number): number | null {
  const given = env[name]?.trim() ?? '';
  if (given === '') return null;
  const number = /^\d{1,9}$/.test(given) ? Number(given) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new AppError('usage', `${name} is ${JSON.stringify(given)}.`, `Give ${what} from ${least} to ${most}.`);
}

/** Of processors, such as 1.5. Throws `usage`, with `name` as it is set, for anything else. */
export function coresIn(name: string, given: string): number {
  const cores = /^\d{1,4}(?:\.\d{1,2})?$/.test(given.trim()) ? Number(given) : Number.NaN;
  if (cores >= 0.1 && cores <= 1024) return cores;
  throw new AppError(
    'usage',
    `${name} is ${JSON.stringify(given)}.`,
    'Give a number of cores from 0.1 to 1024, such as 1.5.',
  );
}
