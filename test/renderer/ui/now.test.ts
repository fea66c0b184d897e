import { expect, test } from 'vitest';
import { formatElapsed, formatMoment, formatRelative } from '../../../src/renderer/ui/now.tsx';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

test.each([
  [-5 * second, '0 s'],
  [59 * second + 999, '59 s'],
  [60 * second, '1:00'],
  [3 * minute + 5 * second, '3:05'],
  [2 * hour + 5 * minute + 9 * second, '2:05:09'],
  [49 * hour, '2 d'],
])('%d ms have lasted %s', (milliseconds, text) => {
  expect(formatElapsed(milliseconds)).toBe(text);
});

test.each([
  [-minute, 'now'],
  [9 * second, 'now'],
  [10 * second, '10 s ago'],
  [90 * second, '1 min ago'],
  [3 * hour, '3 h ago'],
])('%d ms before now reads %s', (milliseconds, text) => {
  const now = Date.UTC(2026, 0, 2, 12);
  expect(formatRelative(now - milliseconds, now)).toBe(text);
});

test('since when: the time alone for today, else with its date', () => {
  const noon = new Date(2026, 0, 2, 12).getTime();
  expect(formatMoment(noon - hour, noon)).toMatch(/^11:00/);
  expect(formatMoment(noon - 13 * hour, noon)).toMatch(/1.*, 11:00/);
});
