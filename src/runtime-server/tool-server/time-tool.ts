/** `time.now`: models do not know what time it is. */
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import { defineTool, type Tool } from './tool.ts';

/** Zones whose format is kept: making one costs more than all else of a call. */
const maxZones = 50;

export function createTimeTool({ clock }: { readonly clock: Pick<Clock, 'now'> }): Tool {
  const kept = new Map<string, Zone>();
  let own: { readonly zone: Zone; readonly minute: number } | null = null;
  const zoneOf = (timezone: string | undefined) => {
    if (timezone === undefined) {
      // This computer's own zone may be changed while this runs, so that it is read again each minute.
      const minute = minuteCount(clock.now());
      if (own?.minute !== minute) own = { zone: readZone(timezone), minute };
      return own.zone;
    }
    const zone = kept.get(timezone) ?? readZone(timezone);
    if (kept.size < maxZones) kept.set(timezone, zone);
    return zone;
  };
  return defineTool({
    name: 'time.now',
    title: 'Tell the time',
    description: 'Says what time it is, in UTC and in a time zone: by default the one of this computer.',
    input: z.strictObject({
      timezone: z.string().min(1).max(100).optional().meta({ description: 'As IANA names it: Europe/Vienna, UTC.' }),
    }),
    output: z.strictObject({
      utc: z.string().meta({ description: 'RFC 3339.' }),
      unixMs: z.number(),
      timezone: z.string(),
      local: z.string().meta({ description: 'RFC 3339 with the offset of the time zone.' }),
      weekday: z.string(),
    }),
    readOnly: true,
    annotations: { openWorldHint: false },
    plan: ({ timezone }) => {
      const zone = zoneOf(timezone);
      return {
        risk: 'low',
        title: 'Tell the time',
        summary: `The time in ${zone.name}`,
        run: async () => {
          const now = clock.now();
          const utc = iso(now);
          const { start, offset, weekday } = minuteOf(zone, now);
          return {
            utc,
            unixMs: now,
            timezone: zone.name,
            // Offsets are of whole minutes: seconds are the same in every zone.
            local: `${start}${utc.slice(16, 23)}${offset}`,
            weekday,
          };
        },
      };
    },
    say: ({ local, weekday, timezone, utc }) => `${local} (${weekday}, ${timezone}); UTC ${utc}`,
  });
}

interface Zone {
  /** As IANA names it. */
  readonly name: string;
  readonly format: Intl.DateTimeFormat;
  /** The last formatted minute: formatting costs more than all else in a call. */
  minute: Minute;
}

interface Minute {
  /** Since the epoch. */
  readonly count: number;
  /** `2026-11-22T00:31` */
  readonly start: string;
  readonly offset: string;
  readonly weekday: string;
}

const minuteCount = (now: number) => Math.floor(now / 60_000);

function minuteOf(zone: Zone, now: number): Minute {
  const count = minuteCount(now);
  if (zone.minute.count === count) return zone.minute;
  const found = Object.fromEntries(zone.format.formatToParts(now).map(({ type, value }) => [type, value]));
  zone.minute = {
    count,
    start: `${found.year}-${found.month}-${found.day}T${found.hour}:${found.minute}`,
    offset: found.timeZoneName?.replace('GMT', '') || 'Z',
    weekday: found.weekday ?? '',
  };
  return zone.minute;
}

function readZone(timezone: string | undefined): Zone {
  try {
    const format = new Intl.DateTimeFormat('en-US', {
      ...(timezone === undefined ? {} : { timeZone: timezone }),
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      hourCycle: 'h23',
      weekday: 'long',
      timeZoneName: 'longOffset',
    });
    const minute = { count: Number.NaN, start: '', offset: '', weekday: '' };
    return { name: format.resolvedOptions().timeZone, format, minute };
  } catch (cause) {
    const fact = `There is no time zone ${JSON.stringify(timezone?.slice(0, 100))}.`;
    throw new AppError('usage', fact, 'Name one as IANA does: Europe/Vienna, America/New_York, UTC.', { cause });
  }
}
