import { describe, expect, test } from 'vitest';
import { resetTime } from '../../../src/runtime-server/harness/reset-time.ts';

/** Sunday. */
const now = Date.parse('2026-11-22T12:00:00Z');
const at = (text: string, zone = 'Europe/Berlin', from = now) => {
  const found = resetTime(text, from, zone);
  return found === null ? null : new Date(found).toISOString();
};

describe('a reset that a harness names', () => {
  test.each([
    ["You've hit your session limit · resets 8:30pm (Asia/Tokyo)", '2026-11-23T11:30:00.000Z'],
    [
      'usage limit: Claude usage limit reached. Your limit will reset at 9am (America/Chicago).',
      '2026-11-22T15:00:00.000Z',
    ],
    ["You've hit your weekly limit · resets Nov 27 at 4:30am (Asia/Calcutta)", '2026-11-26T23:00:00.000Z'],
    ["You've hit your weekly limit · resets Dec 1, 10:59am (America/New_York)", '2026-12-01T15:59:00.000Z'],
    ['Weekly limit reached · resets 10am (Asia/Seoul) · /upgrade to Max', '2026-11-23T01:00:00.000Z'],
    [`Claude AI usage limit reached|${Date.parse('2026-11-22T18:00:00Z') / 1000}`, '2026-11-22T18:00:00.000Z'],
    [
      "You've hit your usage limit. Upgrade to Pro or try again in 2 days 17 hours 14 minutes.",
      '2026-11-25T05:14:00.000Z',
    ],
    [
      "You've hit your usage limit. Visit settings to purchase more credits or try again at 2:51 PM.",
      '2026-11-22T13:51:00.000Z',
    ],
    ["You've hit your usage limit. Try again at Dec 5th, 2026 3:14 PM.", '2026-12-05T14:14:00.000Z'],
    ['Usage limit reached for gemini-3-flash-preview. Access resets at 10:57 PM GMT-3.', '2026-11-23T01:57:00.000Z'],
    ["You've hit your limit · resets 3pm you can wait", '2026-11-22T14:00:00.000Z'],
  ])('%s', (text, expected) => {
    expect(at(text)).toBe(expected);
  });

  test('a time that has just been is that one, an earlier one is of tomorrow', () => {
    expect(at('resets 12:50pm')).toBe('2026-11-22T11:50:00.000Z');
    expect(at('resets 11am')).toBe('2026-11-23T10:00:00.000Z');
  });

  test('a date of January named in December is of the next year', () => {
    const december = Date.parse('2026-12-30T12:00:00Z');
    expect(at('resets Jan 2 at 1am (UTC)', 'UTC', december)).toBe('2027-01-02T01:00:00.000Z');
  });

  test('the zone that is named holds on both sides of a change of clocks', () => {
    const before = Date.parse('2026-10-24T20:00:00Z');
    expect(at('resets Oct 25 at 6am (Europe/Berlin)', 'UTC', before)).toBe('2026-10-25T05:00:00.000Z');
    expect(at('resets 11:30pm (Europe/Berlin)', 'UTC', before)).toBe('2026-10-24T21:30:00.000Z');
  });

  test.each([
    'usage limit: Credit balance is too low',
    "You've hit your limit · resets soon",
    "You've hit your limit · resets 3",
    "You've hit your limit · resets 3pm PST",
    "You've hit your limit · resets 3pm (Middle/Earth)",
    'resets 16:21 on 19 May',
    'try again at 10 de jul. de 2026, 11:52',
    'resets 25:10',
    'resets 13pm',
    'limit reached|1000000000',
    'try again in 400 days',
  ])('what is not known for sure is not guessed: %s', (text) => {
    expect(at(text)).toBeNull();
  });
});
