/** Draws a chart on a canvas. Loaded with the first chart. Must not know what is drawn. */
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { chartColours, type Dash, dashes, type Scheme } from './chart-colours.ts';
import type { ChartData } from './chart-data.ts';

const height = 200;
const strokes: Readonly<Record<Dash, number[]>> = { solid: [], dashed: [9, 5], dotted: [2, 4] };
/** CSS pixels of the axis of values. */
const axisWidth = 64;
const font = '11px "Inter Variable", sans-serif';
/** CSS pixels between two labels along the axis; those of bars may stand closer, so that each bar has its own. */
const labelWidth = 90;
const leastLabelWidth = 48;
const characterWidth = 6.5;

export interface DrawnChart {
  resize(width: number): void;
  end(): void;
}

export function drawChart(
  element: HTMLElement,
  { labels, lines }: ChartData,
  how: {
    readonly kind: 'lines' | 'bars' | 'stacked';
    readonly scheme: Scheme;
    readonly format: (value: number) => string;
    readonly steps?: readonly number[] | undefined;
    /** The label below the pointer; null: none. */
    readonly onPoint: (index: number | null) => void;
  },
): DrawnChart {
  const { text, grid, lines: colours } = chartColours[how.scheme];
  const axis = { stroke: text, font, ticks: { show: false }, grid: { stroke: grid, width: 1 } };
  const paths = how.kind === 'lines' ? undefined : uPlot.paths.bars?.({ size: [0.7, 48] });
  const drawn = how.kind === 'stacked' ? stacked(lines) : lines.map((line, index) => ({ ...line, index }));
  const plot = new uPlot(
    {
      width: Math.max(200, element.clientWidth),
      height,
      legend: { show: false },
      cursor: { drag: { x: false, y: false }, y: false },
      // Half a step at both ends, so that the first and the last are drawn whole.
      scales: {
        x: { time: false, range: [-0.5, Math.max(0, labels.length - 1) + 0.5] },
        y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] },
      },
      axes: [
        {
          ...axis,
          grid: { show: false },
          values: (_plot, splits, _axis, space) =>
            splits.map((at) => (Number.isInteger(at) ? shortened(labels[at] ?? '', space / characterWidth) : '')),
          space: (_plot, _axis, _min, _max, width) => {
            const ofBar = width / labels.length;
            return how.kind !== 'lines' && ofBar >= leastLabelWidth ? Math.min(labelWidth, ofBar) : labelWidth;
          },
          size: 28,
        },
        {
          ...axis,
          size: axisWidth,
          values: (_plot, splits) => splits.map(how.format),
          ...(how.steps === undefined ? {} : { incrs: [...how.steps] }),
        },
      ],
      series: [
        {},
        ...drawn.map(({ name, index }) => {
          const stroke = colours[index % colours.length] ?? text;
          return {
            label: name,
            stroke,
            width: 2,
            dash: strokes[dashes[index % dashes.length] ?? 'solid'],
            points: { show: how.kind === 'lines' && labels.length <= 31, size: 5, fill: stroke },
            ...(paths === undefined ? {} : { paths, fill: stroke }),
          };
        }),
      ],
      hooks: { setCursor: [(self) => how.onPoint(self.cursor.idx ?? null)] },
    },
    [labels.map((_, index) => index), ...drawn.map(({ values }) => [...values])],
    element,
  );
  return {
    resize: (width) => plot.setSize({ width: Math.max(200, width), height }),
    end: () => plot.destroy(),
  };
}

const shortened = (label: string, most: number): string =>
  label.length > most ? `${label.slice(0, Math.max(1, Math.floor(most) - 1)).trimEnd()}…` : label;

/** Each line on top of those before it, the highest first: the lower ones are drawn over it. */
function stacked(lines: ChartData['lines']): { name: string; index: number; values: readonly number[] }[] {
  const under = (index: number) =>
    (lines[index]?.values ?? []).map((_, at) =>
      lines.slice(0, index + 1).reduce((sum, { values }) => sum + (values[at] ?? 0), 0),
    );
  return lines.map(({ name }, index) => ({ name, index, values: under(index) })).toReversed();
}
