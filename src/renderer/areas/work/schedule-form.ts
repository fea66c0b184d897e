/** A schedule's times, as a person chooses them and as cron. Pure. */
import type { Schedule, ScheduleRequest } from '../../../contracts/factory/schedules-routes.ts';

type Repeat = 'daily' | 'workdays' | 'weekly' | 'hourly' | 'cron' | 'once';

export const repeatWords: Readonly<Record<Repeat, string>> = {
  daily: 'Every day',
  workdays: 'Monday to Friday',
  weekly: 'Once a week',
  hourly: 'Every hour',
  cron: 'Cron expression',
  once: 'Once',
};

export const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

export interface WhenFields {
  readonly repeat: Repeat;
  /** `09:00` */
  readonly time: string;
  /** 0: Sunday. */
  readonly weekday: number;
  readonly cron: string;
  /** `2026-12-01T09:00`, by the clock of the browser. */
  readonly moment: string;
  readonly timezone: string;
}

/** What is sent; null while something is missing. */
export function whenOf(fields: WhenFields): { cron: string } | { at: string } | null {
  const { repeat, time, weekday, cron, moment } = fields;
  const [, hour, minute] = /^(\d{2}):(\d{2})/.exec(time) ?? [];
  switch (repeat) {
    case 'once': {
      const at = new Date(moment);
      return Number.isNaN(at.getTime()) ? null : { at: at.toISOString() };
    }
    case 'cron':
      return cron.trim() === '' ? null : { cron: cron.trim() };
    case 'hourly':
      return { cron: '0 * * * *' };
    default: {
      if (hour === undefined || minute === undefined) return null;
      const days = repeat === 'daily' ? '*' : repeat === 'workdays' ? '1-5' : String(weekday);
      return { cron: `${Number(minute)} ${Number(hour)} * * ${days}` };
    }
  }
}

/** A cron expression in words where it is a usual one; else itself. */
export function cronWords(cron: string): string {
  if (cron === '0 * * * *') return 'Every hour';
  const [, minute, hour, days] = /^(\d{1,2}) (\d{1,2}) \* \* (\*|1-5|[0-6])$/.exec(cron) ?? [];
  if (minute === undefined || hour === undefined || days === undefined) return cron;
  const at = `${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`;
  if (days === '*') return `Every day at ${at}`;
  return days === '1-5' ? `Monday to Friday at ${at}` : `Every ${weekdays[Number(days)]} at ${at}`;
}

/** `2026-12-01 09:00`, by the clock on the wall of this zone. */
export function momentIn(at: string, timezone: string): string {
  const options = { dateStyle: 'medium', timeStyle: 'short' } as const;
  try {
    return new Date(at).toLocaleString(undefined, { ...options, timeZone: timezone });
  } catch {
    return new Date(at).toLocaleString(undefined, options);
  }
}

/** What creates a removed schedule again. Its past times are not part of it. */
export function sameSchedule({ title, run, cron, at, timezone, runMissed, paused }: Schedule): ScheduleRequest {
  return { title, run, timezone, runMissed, paused, ...(cron === null ? { at: at ?? '' } : { cron }) };
}
