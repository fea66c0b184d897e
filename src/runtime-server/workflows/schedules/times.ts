/**
 * Computes when a schedule is due: five fields of cron in a time zone, or one moment. A time that a change of clocks skips comes right after the
 * gap, one that it repeats comes once. Pure; must not know runs.
 */
import { Cron } from 'croner';
import { AppError } from '../../../contracts/common/errors.ts';

export interface When {
  readonly cron: string | null;
  readonly at: number | null;
  readonly timezone: string;
}

/** The first time strictly after `from`; null: none. */
export function nextDue({ cron, at, timezone }: When, from: number): number | null {
  if (cron === null) return at !== null && at > from ? at : null;
  return cronOf(cron, timezone).nextRun(new Date(from))?.getTime() ?? null;
}

/** Up to `max` times after `from`. */
export function nextTimes(when: When, from: number, max: number): number[] {
  const times: number[] = [];
  for (let next = nextDue(when, from); next !== null && times.length < max; next = nextDue(when, next))
    times.push(next);
  return times;
}

/** The last `max` times from `first` to `until`, both with, oldest first; and how many there were before those. */
export function timesBetween(
  when: When,
  first: number,
  until: number,
  max: number,
): { readonly times: readonly number[]; readonly more: boolean } {
  if (when.cron === null) return { times: first <= until ? [first] : [], more: false };
  // From the end: years of minutes must not be walked through.
  const times = cronOf(when.cron, when.timezone)
    .previousRuns(max + 1, new Date(until + 1))
    .map((time) => time.getTime())
    .filter((time) => time >= first && time <= until)
    .sort((a, b) => a - b);
  return { times: times.slice(-max), more: times.length > max };
}

/** Refuses an invalid schedule, in words. */
export function checkWhen(when: When, now: number): void {
  if (!isZone(when.timezone)) {
    throw new AppError('usage', `"${when.timezone}" is not a time zone.`, 'Name one such as Europe/Berlin or UTC.');
  }
  if (when.cron === null) {
    if (when.at !== null && when.at > now) return;
    throw new AppError('usage', 'The time has passed.', 'Give a time in the future.');
  }
  let next: number | null;
  try {
    next = nextDue(when, now);
  } catch (error) {
    const why = error instanceof Error ? error.message.replace(/^CronPattern: /, '') : String(error);
    throw new AppError(
      'usage',
      `"${when.cron}" is not a cron expression: ${why}`,
      'Give five fields: minute, hour, day of month, month, weekday. "0 9 * * 1-5" is 9:00 on workdays.',
    );
  }
  if (next === null) throw new AppError('usage', `"${when.cron}" never matches.`, 'Give fields that match some date.');
}

function cronOf(cron: string, timezone: string): Cron {
  return new Cron(cron, { timezone, mode: '5-part', paused: true });
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}
