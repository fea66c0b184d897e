/** How the queue went, as what its charts draw. Pure. */
import type { HistoryRange, QueueMoment } from '../../../contracts/work-queue/task.ts';
import { type ChartData, formatSeconds, secondSteps } from '../../ui/chart/chart-data.ts';

interface HistoryChart {
  /** The title of its card, and the name of its file. */
  readonly name: string;
  readonly data: ChartData;
  readonly kind: 'lines' | 'bars';
  readonly format: (value: number) => string;
  readonly steps?: readonly number[];
}

const count = (value: number) => (Number.isInteger(value) ? value.toLocaleString() : '');

export function chartsOf(moments: readonly QueueMoment[], range: HistoryRange): HistoryChart[] {
  const labels = moments.map(({ at }) => labelOf(at, range));
  const line = (name: string, of: (moment: QueueMoment) => number) => ({ name, values: moments.map(of) });
  return [
    {
      name: 'Waiting tasks',
      data: { labels, lines: [line('Waiting', ({ depth }) => depth)] },
      kind: 'lines',
      format: count,
    },
    {
      name: 'Throughput',
      data: {
        labels,
        lines: [
          line('Added', ({ added }) => added),
          line('Succeeded', ({ succeeded }) => succeeded),
          line('Failed', ({ failed }) => failed),
          line('Cancelled', ({ cancelled }) => cancelled),
        ],
      },
      kind: 'lines',
      format: count,
    },
    {
      name: 'Age of the oldest waiting task',
      data: { labels, lines: [{ ...line('Oldest', (moment) => moment.oldest_seconds ?? 0), unit: 'seconds' }] },
      kind: 'lines',
      format: formatSeconds,
      steps: secondSteps,
    },
  ];
}

/** Local time; over a week with its day. */
function labelOf(at: string, range: HistoryRange): string {
  const date = new Date(at);
  const time = date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
  return range === 'week' ? `${date.toLocaleDateString(undefined, { weekday: 'short' })} ${time}` : time;
}
