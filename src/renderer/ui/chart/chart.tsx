/** Numbers that have a course: a chart, what its lines are, and the same numbers as a table and as CSV. Must not know where they come from. */
import { useEffect, useId, useRef, useState } from 'react';
import { Button } from '../button.tsx';
import { chartColours, dashes, type Scheme } from './chart-colours.ts';
import { type ChartData, csvOf } from './chart-data.ts';
import type { DrawnChart } from './draw-chart.ts';

export function Chart({
  name,
  first,
  data,
  kind = 'lines',
  scheme,
  format,
  steps,
}: {
  /** What it shows, for who does not see it and as the name of its file. */
  name: string;
  /** What the labels are: "Day". */
  first: string;
  data: ChartData;
  /** Stacked: bars whose parts add up to a whole. */
  kind?: 'lines' | 'bars' | 'stacked';
  scheme: Scheme;
  format: (value: number) => string;
  /** Distances that lines across may have; without it, round decimal numbers. The same array each time. */
  steps?: readonly number[] | undefined;
}) {
  const canvas = useRef<HTMLDivElement>(null);
  const [point, setPoint] = useState<number | null>(null);
  const [failed, setFailed] = useState(false);
  const id = useId();
  const { labels, lines } = data;
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    let drawn: DrawnChart | null = null;
    let gone = false;
    const observer = new ResizeObserver(() => drawn?.resize(element.clientWidth));
    import('./draw-chart.ts').then(
      ({ drawChart }) => {
        if (gone) return;
        drawn = drawChart(element, data, { kind, scheme, format, steps, onPoint: setPoint });
        observer.observe(element);
      },
      () => setFailed(true),
    );
    return () => {
      gone = true;
      observer.disconnect();
      drawn?.end();
    };
  }, [data, kind, scheme, format, steps]);
  const shown = point === null ? null : (labels[point] ?? null);
  return (
    <figure aria-labelledby={id} className="flex min-w-0 flex-col gap-2 px-3 py-2.5">
      <figcaption id={id} className="sr-only">
        {name}
      </figcaption>
      <ul className="flex flex-wrap gap-x-4 gap-y-1 text-meta">
        {lines.map((line, index) => (
          <li key={line.name} className="flex min-w-0 items-center gap-1.5">
            <span
              aria-hidden="true"
              className="inline-block w-5 shrink-0"
              style={{
                borderTop: `${kind === 'lines' ? 2 : 8}px ${kind === 'lines' ? dashes[index % dashes.length] : 'solid'} ${chartColours[scheme].lines[index % chartColours[scheme].lines.length]}`,
              }}
            />
            <span className="min-w-0 truncate">{line.name}</span>
            {point !== null && shown !== null && (
              <span className="text-muted tabular-nums">{format(line.values[point] ?? 0)}</span>
            )}
          </li>
        ))}
        <li className="ml-auto text-muted tabular-nums">{shown}</li>
      </ul>
      {failed ? (
        <p className="text-muted">The chart could not be loaded. Its numbers are in the table.</p>
      ) : (
        <div ref={canvas} aria-hidden="true" data-chart={name} className="h-[200px] min-w-0 overflow-hidden" />
      )}
      <div className="flex flex-wrap items-start gap-2">
        <details className="min-w-0 flex-1">
          <summary className="w-fit rounded-control text-meta leading-7 text-muted pointer-coarse:leading-10 hover:text-ink">
            Table
          </summary>
          <div
            // biome-ignore lint/a11y/noNoninteractiveTabindex: a long table is scrolled with keys
            tabIndex={0}
            data-scroll="true"
            className="mt-1 max-h-80 overflow-auto rounded-control border border-line"
          >
            <Table name={name} first={first} data={data} format={format} />
          </div>
        </details>
        <Button kind="quiet" onClick={() => download(`${name}.csv`, csvOf(first, data))}>
          Download CSV
        </Button>
      </div>
    </figure>
  );
}

function Table({
  name,
  first,
  data,
  format,
}: {
  name: string;
  first: string;
  data: ChartData;
  format: (value: number) => string;
}) {
  return (
    <table aria-label={name} className="w-full border-collapse text-left text-meta tabular-nums">
      <thead className="text-muted">
        <tr>
          <th scope="col" className="px-2 py-1 font-normal">
            {first}
          </th>
          {data.lines.map((line) => (
            <th key={line.name} scope="col" className="px-2 py-1 text-right font-normal">
              {line.name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {data.labels.map((label, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: two labels may be the same, and rows keep their places
          <tr key={index} className="border-t border-line">
            <th scope="row" className="px-2 py-1 font-normal">
              {label}
            </th>
            {data.lines.map((line) => (
              <td key={line.name} className="px-2 py-1 text-right">
                {format(line.values[index] ?? 0)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
