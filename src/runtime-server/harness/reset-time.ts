/**
 * When a usage limit ends, read from the messages of a harness. Reads only forms that were seen or are documented; anything else, also a zone by its
 * abbreviation (`PST` is several), is null: then a person decides, and nothing is guessed.
 */

/** A text read a little late still means a moment just past. */
const justPastMs = 15 * 60_000;
/** A reset further away is not believed. */
const farthestMs = 32 * 24 * 3_600_000;

const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];

/** `usage limit reached|1766502000` */
const epoch = /limit reached\|(\d{10})\b/i;
/** `try again in 2 days 17 hours 14 minutes` */
const span =
  /(?:try again|resets?|reset) in ((?:(?:and |, )?\d+ ?(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[dhms])\b[ ,]*)+)/i;
/**
 * `resets 8:30pm (Asia/Tokyo)` · `will reset at 9am (America/Chicago)` · `resets Sep 15 at 7pm` · `resets Jan 12, 10:59am (…)` ·
 * `try again at 2:51 PM.` · `try again at Dec 5th, 2025 3:14 PM` · `Access resets at 10:57 PM GMT-3`
 */
const clockTime =
  /(?:resets?|try again)(?: at)? (?:(?<month>[A-Z][a-z]{2,8})\.? (?<day>\d{1,2})(?:st|nd|rd|th)?(?:,? (?<year>\d{4}))?(?:,| at|,? at)? ?)?(?<hour>\d{1,2})(?::(?<minute>\d{2}))?(?: ?(?<half>[ap]\.?m\.?))?(?<zone> ?\([^)]+\)| (?:GMT|UTC)(?:[+-]\d{1,2}(?::?\d{2})?)?| [A-Z]{2,5}\b)?/i;

/** `now`: when the text was seen. `zone`: the computer's, for texts that name none. */
export function resetTime(text: string, now: number, zone: string): number | null {
  const found = read(text, now, zone);
  return found === null || found < now - justPastMs || found > now + farthestMs ? null : found;
}

function read(text: string, now: number, zone: string): number | null {
  const seconds = epoch.exec(text)?.[1];
  if (seconds !== undefined) return Number(seconds) * 1000;
  const after = span.exec(text)?.[1];
  if (after !== undefined) return now + spanMs(after);
  const groups = clockTime.exec(text)?.groups;
  return groups === undefined ? null : ofClock(groups, now, zone);
}

function spanMs(words: string): number {
  const units: Record<string, number> = { d: 86_400_000, h: 3_600_000, m: 60_000, s: 1000 };
  let sum = 0;
  for (const [, amount, unit] of words.matchAll(/(\d+) ?([dhms])/gi)) {
    sum += Number(amount) * (units[(unit as string).toLowerCase()] as number);
  }
  return sum;
}

function ofClock(groups: Record<string, string | undefined>, now: number, local: string): number | null {
  const hour = hourOf(Number(groups.hour), groups.half, groups.minute);
  const minute = Number(groups.minute ?? 0);
  const where = zoneOf(groups.zone?.trim(), local);
  if (hour === null || minute > 59 || where === null) return null;
  const today = wallAt(now, where);
  if (groups.month !== undefined) {
    const month = months.indexOf(groups.month.slice(0, 3).toLowerCase());
    if (month < 0) return null;
    const on = (year: number) => instantOf(year, month, Number(groups.day), hour, minute, where);
    if (groups.year !== undefined) return on(Number(groups.year));
    // Around the turn of a year the next one is meant.
    const thisYear = on(today.year);
    return thisYear < now - justPastMs ? on(today.year + 1) : thisYear;
  }
  for (const days of [0, 1]) {
    const at = instantOf(today.year, today.month, today.day + days, hour, minute, where);
    if (at >= now - justPastMs) return at;
  }
  return null;
}

function hourOf(hour: number, half: string | undefined, minute: string | undefined): number | null {
  // `resets 3` may be anything.
  if (half === undefined) return minute === undefined || hour > 23 ? null : hour;
  if (hour < 1 || hour > 12) return null;
  return (hour % 12) + (half.toLowerCase().startsWith('p') ? 12 : 0);
}

type Zone = { readonly name: string } | { readonly offsetMs: number };

function zoneOf(words: string | undefined, local: string): Zone | null {
  // `16:21 on 19 May`: of a day that is not read.
  if (words?.toLowerCase() === 'on') return null;
  // The next word of the sentence, not a zone.
  if (words === undefined || /^[a-z]+$/.test(words)) return { name: local };
  const offset = /^(?:GMT|UTC)(?:([+-])(\d{1,2}):?(\d{2})?)?$/i.exec(words);
  if (offset !== null) {
    const [, sign, hours = '0', minutes = '0'] = offset;
    return { offsetMs: (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000 };
  }
  const name = /^\((.+)\)$/.exec(words)?.[1];
  return name !== undefined && isZone(name) ? { name } : null;
}

function isZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

interface Wall {
  readonly year: number;
  /** From 0. */
  readonly month: number;
  readonly day: number;
}

function wallAt(at: number, zone: Zone): Wall {
  const date = new Date(at + offsetAt(at, zone));
  return { year: date.getUTCFullYear(), month: date.getUTCMonth(), day: date.getUTCDate() };
}

/** The moment at which a clock on that wall shows this; where it is skipped, the one after. */
function instantOf(year: number, month: number, day: number, hour: number, minute: number, zone: Zone): number {
  const wall = Date.UTC(year, month, day, hour, minute);
  const first = wall - offsetAt(wall, zone);
  return wall - offsetAt(first, zone);
}

function offsetAt(at: number, zone: Zone): number {
  if ('offsetMs' in zone) return zone.offsetMs;
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone: zone.name,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(at);
  const part = (type: string) => Number(parts.find((one) => one.type === type)?.value);
  const wall = Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'));
  return wall - Math.floor(at / 1000) * 1000;
}
