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

export interface DrawnChart {
  resize(width: number): void;
  end(): void;
}

export function drawChart(
  element: HTMLElement,
  { labels, lines }: ChartData,
  how: {
    readonly kind: 'lines' | 'bars';
    readonly scheme: Scheme;
    readonly format: (value: number) => string;
    readonly steps?: readonly number[] | undefined;
    /** The label below the pointer; null: none. */
    readonly onPoint: (index: number | null) => void;
  },
): DrawnChart {
  const { text, grid, lines: colours } = chartColours[how.scheme];
  const axis = { stroke: text, font, ticks: { show: false }, grid: { stroke: grid, width: 1 } };
  const paths = how.kind === 'bars' ? uPlot.paths.bars?.({ size: [0.7, 48] }) : undefined;
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
          values: (_plot, splits) => splits.map((at) => (Number.isInteger(at) ? (labels[at] ?? '') : '')),
          space: 90,
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
        ...lines.map(({ name }, index) => {
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
    [labels.map((_, index) => index), ...lines.map(({ values }) => [...values])],
    element,
  );
  return {
    resize: (width) => plot.setSize({ width: Math.max(200, width), height }),
    end: () => plot.destroy(),
  };
}
