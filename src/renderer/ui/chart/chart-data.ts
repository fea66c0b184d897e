/** What a chart draws: names along its axis, lines with a value for each, and the same as CSV. Pure. */
import { formatElapsed } from '../now.tsx';
import { maxLines } from './chart-colours.ts';

interface Line {
  readonly name: string;
  /** Of the numbers in a file, which are not written as on the page. */
  readonly unit?: string;
  readonly values: readonly number[];
}

export interface ChartData {
  /** Names along the axis, in order. */
  readonly labels: readonly string[];
  readonly lines: readonly Line[];
}

/** Round times, in seconds, up to a year: distances of the lines across a chart of times. */
export const secondSteps: readonly number[] = [
  ...[1, 5, 10, 30, 60, 120, 300, 600, 1800],
  ...[1, 2, 4, 12, 24, 48, 120, 240, 720, 2400, 8760].map((hours) => hours * 3600),
];

export const formatSeconds = (seconds: number): string => formatElapsed(seconds * 1000);

/** Each day from the first to the last, such as 2026-11-24. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = [];
  for (let at = Date.parse(from); at <= Date.parse(to); at += 86_400_000)
    days.push(new Date(at).toISOString().slice(0, 10));
  return days;
}

/** Rows with a label, a name and a value → one line for each name, largest first; those beyond the limit are summed as "Other". */
export function linesOf(
  labels: readonly string[],
  rows: readonly { readonly label: string; readonly name: string; readonly value: number }[],
): Line[] {
  const at = new Map(labels.map((label, index) => [label, index]));
  const lines = new Map<string, number[]>();
  for (const { label, name, value } of rows) {
    const index = at.get(label);
    if (index === undefined) continue;
    const values = lines.get(name) ?? labels.map(() => 0);
    values[index] = (values[index] ?? 0) + value;
    lines.set(name, values);
  }
  const sum = (values: readonly number[]) => values.reduce((all, one) => all + one, 0);
  const sorted = [...lines].map(([name, values]) => ({ name, values })).sort((a, b) => sum(b.values) - sum(a.values));
  if (sorted.length <= maxLines) return sorted;
  const others = sorted.slice(maxLines - 1);
  const values = labels.map((_, index) => sum(others.map((one) => one.values[index] ?? 0)));
  return [...sorted.slice(0, maxLines - 1), { name: `Other (${others.length})`, values }];
}

/** RFC 4180. A name cannot become a formula of whichever program opens it. */
export function csvOf(first: string, { labels, lines }: ChartData): string {
  const rows = [
    [first, ...lines.map(({ name, unit }) => (unit === undefined ? name : `${name} (${unit})`))].map(cell),
    ...labels.map((label, index) => [cell(label), ...lines.map(({ values }) => String(values[index] ?? ''))]),
  ];
  return rows.map((row) => `${row.join(',')}\r\n`).join('');
}

function cell(text: string): string {
  const plain = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
