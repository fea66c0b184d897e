import { describe, expect, test } from 'vitest';
import type { PushDevice } from '../../../../src/contracts/notifications/push.ts';
import { writtenCode } from '../../../../src/renderer/areas/pair/pair-page.tsx';
import { expiryWords, isToolPattern, toolWords } from '../../../../src/renderer/areas/settings/key-words.ts';
import { centsOf, money, monthName, monthPlus } from '../../../../src/renderer/areas/settings/money.ts';
import { type Reach, reachLines, reachSummary } from '../../../../src/renderer/areas/settings/reach-words.ts';

const at = '2026-01-02T03:04:05.678Z';
const device = (id: string, lastOutcome: PushDevice['lastOutcome'] = null): PushDevice => ({
  id,
  name: id,
  createdAt: at,
  lastSentAt: lastOutcome === null ? null : at,
  lastOutcome,
});
const reach = (more: Partial<Reach> = {}): Reach => ({
  pushConfigured: true,
  working: true,
  devices: 1,
  reachable: 1,
  lastOutcome: null,
  away: [],
  ...more,
});

describe('what reaches a person is said truthfully', () => {
  test('a device whose last push was not taken does not count as reaching, and says why', () => {
    const devices = [device('phone', 'sent'), device('laptop', 'refused')];
    expect(reachSummary(reach({ devices: 2, reachable: 1 }), devices)).toBe('A push reaches 1 of 2 devices.');
    const lines = reachLines(reach({ devices: 2 }), devices, 'on');
    expect(lines.map((line) => [line.key, line.way])).toEqual([
      ['tab', 'yes'],
      ['phone', 'yes'],
      ['laptop', 'no'],
    ]);
    expect(lines[2]?.text).toContain('refused Gantry’s key');
    expect(reachSummary(reach({ reachable: 0 }), [device('phone', 'unreachable')])).toContain('no device accepted');
  });

  test.each<[Partial<Reach>, readonly PushDevice[], string]>([
    [{ pushConfigured: false }, [device('phone', 'sent')], 'no push keys'],
    [{ working: false }, [device('phone', 'sent')], 'no pushes are being sent'],
    [{ devices: 0, reachable: 0 }, [], 'you have not registered one'],
  ])('%j with %j reaches open tabs only', (more, devices, why) => {
    expect(reachSummary(reach(more), devices)).toContain('Only open tabs reach you');
    const lines = reachLines(reach(more), devices, 'off');
    expect(lines.filter((line) => line.way === 'yes').map((line) => line.key)).toEqual(['tab']);
    expect(lines[1]?.text).toContain(why);
  });

  test('a blocked browser and a computer that is away are said beside what works', () => {
    const away = [{ id: 'computer_2', name: 'tower', since: at }];
    const lines = reachLines(reach({ away }), [device('phone', 'sent')], 'denied');
    expect(lines.map((line) => [line.key, line.way])).toEqual([
      ['tab', 'yes'],
      ['phone', 'yes'],
      ['browser', 'no'],
      ['away computer_2', 'later'],
    ]);
    expect(lines[3]).toMatchObject({ at, text: expect.stringContaining('tower') });
  });
});

test.each([
  ['20', 2000],
  ['12.5', 1250],
  ['$1,200.00', 120_000],
  ['0', null],
  ['', null],
  ['-4', null],
  ['1.234', null],
  ['twenty', null],
])('%j dollars are %j cents', (text, cents) => {
  expect(centsOf(text)).toBe(cents);
});

test('money keeps what a small amount says, and months follow each other over a year', () => {
  expect([money(0), money(0.042), money(7), money(123_456)]).toEqual(['$0.00', '$0.00042', '$0.07', '$1,234.56']);
  expect([monthPlus('2026-12', 1), monthPlus('2026-01', -1)]).toEqual(['2027-01', '2025-12']);
  expect(monthName('2026-11')).toContain('2026');
});

test('the end of a key is said in days, and that it has none or is over', () => {
  const now = Date.parse(at);
  const inDays = (days: number) => expiryWords(new Date(now + days * 86_400_000).toISOString(), now);
  expect([expiryWords(null, now), inDays(90), inDays(1), inDays(0.5), inDays(-1)]).toEqual([
    'never expires',
    'expires in 90 days',
    'expires in a day',
    'expires today',
    'expired',
  ]);
});

test.each([
  ['bcdf ghjk', 'BCDF-GHJK'],
  ['BCDF-GHJK', 'BCDF-GHJK'],
  ['bcd', 'BCD'],
  ['bcdfghjklmn', 'BCDF-GHJK'],
  ['1234', ''],
])('a code typed as %j is written %j', (typed, written) => {
  expect(writtenCode(typed)).toBe(written);
});

test('a key says which tools it has in one line, and takes no name that covers others by chance', () => {
  expect(toolWords({ names: ['file.read', 'tracker.*'] })).toBe('only the tools file.read, tracker.*');
  const names = Array.from({ length: 60 }, (_, at) => `t${at}`);
  expect(toolWords({ names, search: true })).toBe('only the tools t0, t1, t2, t3, t4 and 55 more, found by search');
  expect(['file.read', 'tracker.*', '*', 'a*b', 'a b', ''].map(isToolPattern)).toEqual([
    true,
    true,
    true,
    false,
    false,
    false,
  ]);
});
