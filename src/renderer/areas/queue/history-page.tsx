/** How the queue went over the last hour, day or week: what waited, what was added and ended, and how old the oldest was. */
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useEffect, useMemo } from 'react';
import { type HistoryRange, historyRanges } from '../../../contracts/work-queue/task.ts';
import { BackLink } from '../../base/place-frame.tsx';
import { useScheme } from '../../base/use-theme.ts';
import { Card } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Pick } from '../../ui/pick.tsx';
import { chartsOf } from './queue-history.ts';
import { useQueueServices } from './use-queue-services.ts';

const rangeWords: Readonly<Record<HistoryRange, string>> = {
  hour: 'Last hour',
  day: 'Last 24 hours',
  week: 'Last 7 days',
};

export function HistoryPage() {
  const { queries, queueEvents } = useQueueServices();
  const { range = 'day' } = useSearch({ strict: false }) as { range?: HistoryRange };
  const navigate = useNavigate();
  const scheme = useScheme();
  const history = useQuery(queries.queueHistory(range));
  useEffect(() => queueEvents.watch(), [queueEvents]);
  const charts = useMemo(() => chartsOf(history.data?.moments ?? [], range), [history.data, range]);
  return (
    <main className="flex min-h-0 min-w-0 flex-1 flex-col overflow-y-auto">
      <header className="flex h-10 shrink-0 items-center gap-2 border-b border-line bg-panel px-3 pointer-coarse:h-12">
        <BackLink to="/queue" label="Back to the queue" />
        <h1 className="text-title font-semibold">Queue history</h1>
        <span className="ml-auto">
          <Pick
            label="Range"
            value={range}
            onChange={(key) => void navigate({ to: '/queue/history', search: { range: key as HistoryRange } })}
          >
            {historyRanges.map((one) => [one, rangeWords[one]])}
          </Pick>
        </span>
      </header>
      <ListStates
        source={history}
        skeleton={<SkeletonRows count={3} height={250} />}
        isEmpty={() => false}
        empty={null}
      >
        {({ moments }) => (
          <div className={`grid gap-3 p-3 xl:grid-cols-2 ${history.isPlaceholderData ? 'opacity-60' : ''}`}>
            {moments.every(isQuiet) && (
              <p className="text-muted xl:col-span-2">
                No task waited or ended in this period. These charts fill in once there are tasks.
              </p>
            )}
            {charts.map(({ name, data, kind, format, steps }) => (
              <Card key={name} title={name}>
                <Chart name={name} first="Time" data={data} kind={kind} scheme={scheme} format={format} steps={steps} />
              </Card>
            ))}
          </div>
        )}
      </ListStates>
    </main>
  );
}

const isQuiet = ({ depth, added, succeeded, failed, cancelled }: Parameters<typeof chartsOf>[0][number]): boolean =>
  depth + added + succeeded + failed + cancelled === 0;
