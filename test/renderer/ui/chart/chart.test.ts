import { expect, test } from 'vitest';
import { chartColours, dashes, maxLines } from '../../../../src/renderer/ui/chart/chart-colours.ts';
import { csvOf, daysBetween, linesOf } from '../../../../src/renderer/ui/chart/chart-data.ts';

/** Linear light of red, green and blue. */
function linear(colour: string): [number, number, number] {
  const channel = (at: number) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}
const light = ([red, green, blue]: readonly number[]) =>
  0.2126 * (red ?? 0) + 0.7152 * (green ?? 0) + 0.0722 * (blue ?? 0);
const contrast = (one: number, other: number) => (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);

test.each(['dark', 'light'] as const)(
  'lines of the %s theme stand out from their panel, and its words can be read',
  (scheme) => {
    const { panel, text, lines } = chartColours[scheme];
    const behind = light(linear(panel));
    for (const colour of lines) expect(contrast(light(linear(colour)), behind)).toBeGreaterThanOrEqual(3);
    expect(contrast(light(linear(text)), behind)).toBeGreaterThanOrEqual(4.5);
  },
);

/** Viénot, Brettel and Mollon 1999: how somebody without red or green cones sees linear light. */
const seen = {
  red: [
    [0.11238, 0.88762, 0],
    [0.11238, 0.88762, 0],
    [0.00401, -0.00401, 1],
  ],
  green: [
    [0.29275, 0.70725, 0],
    [0.29275, 0.70725, 0],
    [-0.02234, 0.02234, 1],
  ],
} as const;

test.each(['dark', 'light'] as const)(
  'two lines of the %s theme with one dash differ for colour-blind readers too',
  (scheme) => {
    const { lines } = chartColours[scheme];
    for (const matrix of Object.values(seen)) {
      const looks = lines.map((colour) =>
        matrix.map((row) => row.reduce<number>((sum, part, at) => sum + part * (linear(colour)[at] ?? 0), 0)),
      );
      for (const [at, one] of looks.entries()) {
        for (const [other, two] of looks.entries()) {
          if (other <= at || dashes[at] !== dashes[other]) continue;
          const apart = Math.hypot(...one.map((value, index) => value - (two[index] ?? 0)));
          expect(apart, `${lines[at]} ${lines[other]}`).toBeGreaterThan(0.08);
        }
      }
    }
  },
);

test('days without rows are zero, and names beyond what can be told apart are summed', () => {
  const days = daysBetween('2026-02-27', '2026-03-01');
  expect(days).toEqual(['2026-02-27', '2026-02-28', '2026-03-01']);
  const rows = Array.from({ length: 8 }, (_, at) => ({ label: days[at % 2] ?? '', name: `bot${at}`, value: 10 - at }));
  const lines = linesOf(days, rows);
  expect(lines).toHaveLength(maxLines);
  expect(lines[0]).toEqual({ name: 'bot0', values: [10, 0, 0] });
  expect(lines.at(-1)).toEqual({ name: 'Other (3)', values: [4, 8, 0] });
});

test('CSV keeps commas, quotes and line breaks of names, and no name becomes a formula', () => {
  const lines = [
    { name: 'a,"b"\n', values: [1, 2.5] },
    { name: '=cmd()', values: [0, 3] },
  ];
  expect(csvOf('Day', { labels: ['x', '-1'], lines })).toBe(`Day,"a,""b""\n",'=cmd()\r\nx,1,0\r\n'-1,2.5,3\r\n`);
});
