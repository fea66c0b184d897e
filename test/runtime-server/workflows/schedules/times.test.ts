import { describe, expect, test } from 'vitest';
import { checkWhen, nextTimes, timesBetween } from '../../../../src/runtime-server/workflows/schedules/times.ts';

const at = (text: string) => Date.parse(text);
const berlin = (cron: string) => ({ cron, at: null, timezone: 'Europe/Berlin' });
const iso = (times: readonly number[]) => times.map((time) => new Date(time).toISOString());

describe('the times of a schedule', () => {
  test('keep the clock on the wall over both changes of clocks', () => {
    expect(iso(nextTimes(berlin('0 9 * * *'), at('2026-03-28T00:00:00Z'), 2))).toEqual([
      '2026-03-28T08:00:00.000Z',
      '2026-03-29T07:00:00.000Z',
    ]);
    expect(iso(nextTimes(berlin('0 9 * * *'), at('2026-10-24T00:00:00Z'), 2))).toEqual([
      '2026-10-24T07:00:00.000Z',
      '2026-10-25T08:00:00.000Z',
    ]);
  });

  test('a time that the change leaves out comes once, right after the gap', () => {
    const times = iso(nextTimes(berlin('30 2 * * *'), at('2026-03-28T12:00:00Z'), 2));
    expect(times).toEqual(['2026-03-29T01:00:00.000Z', '2026-03-30T00:30:00.000Z']);
  });

  test('a time that the change repeats comes once', () => {
    const times = iso(nextTimes(berlin('30 2 * * *'), at('2026-10-24T12:00:00Z'), 2));
    expect(times).toHaveLength(2);
    expect(new Set(times.map((time) => time.slice(0, 10))).size).toBe(2);
  });

  test.each(['30 2 * * *', '*/20 * * * *', '0 9 * * 1-5', '15 1-4 * * *'])(
    'looked at from both ends they are the same, over both changes: %s',
    (cron) => {
      for (const day of ['2026-03-28', '2026-10-24']) {
        const from = at(`${day}T00:00:00Z`);
        const until = from + 3 * 24 * 3_600_000;
        const forwards = nextTimes(berlin(cron), from - 1, 1000).filter((time) => time <= until);
        expect(iso(timesBetween(berlin(cron), from, until, 1000).times)).toEqual(iso(forwards));
      }
    },
  );

  test('of many that passed the newest are kept, without walking through years', () => {
    const { times, more } = timesBetween(
      berlin('* * * * *'),
      at('2020-01-01T00:00:00Z'),
      at('2026-01-01T00:00:00Z'),
      3,
    );
    expect([iso(times).at(-1), times.length, more]).toEqual(['2026-01-01T00:00:00.000Z', 3, true]);
  });

  test.each([
    [berlin('99 * * * *'), 'is not a cron expression'],
    [berlin('* * * * * *'), 'is not a cron expression'],
    [berlin('0 0 31 2 *'), 'never matches'],
    [{ cron: '0 9 * * *', at: null, timezone: 'Middle/Earth' }, 'is not a time zone'],
    [{ cron: null, at: at('2026-01-01T00:00:00Z'), timezone: 'UTC' }, 'has passed'],
  ])('what is none is refused in words: %j', (when, words) => {
    expect(() => checkWhen(when, at('2026-06-01T00:00:00Z'))).toThrow(words);
  });
});
