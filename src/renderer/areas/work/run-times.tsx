/** How long each step of a run took and what it spent the time on. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import type { StepTimes, RunTimes as Times } from '../../../contracts/factory/workflow.ts';
import { useServices } from '../../base/services.tsx';
import { useScheme } from '../../base/use-theme.ts';
import { Card } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { type ChartData, formatSeconds, secondSteps } from '../../ui/chart/chart-data.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';

export function RunTimes({ dagId }: { dagId: string }) {
  const { queries } = useServices();
  const scheme = useScheme();
  const times = useQuery(queries.runTimes(dagId));
  const data = useMemo(() => (times.data === undefined ? null : chartOf(times.data)), [times.data]);
  return (
    <div className="min-h-0 flex-1 overflow-y-auto p-3">
      <ListStates
        source={times}
        skeleton={<SkeletonRows count={1} height={250} />}
        isEmpty={({ steps }) => steps.every((step) => parts.every(({ of }) => of(step) === 0))}
        empty={<Empty>No step of this run has begun. How long each step works and waits appears here.</Empty>}
      >
        {() =>
          data !== null && (
            <Card title="Step times">
              <Chart
                name="Step times"
                first="Step"
                data={data}
                kind="stacked"
                scheme={scheme}
                format={formatSeconds}
                steps={secondSteps}
              />
            </Card>
          )
        }
      </ListStates>
    </div>
  );
}

const parts: readonly { name: string; of: (step: StepTimes) => number }[] = [
  { name: 'Working', of: ({ workingMs }) => workingMs },
  { name: 'Checking', of: ({ checkingMs }) => checkingMs },
  { name: 'Needs you', of: ({ needsYouMs }) => needsYouMs },
  { name: 'Waiting', of: ({ waitingMs }) => waitingMs },
];

/** In seconds, which is what a spreadsheet adds up. */
function chartOf({ steps }: Times): ChartData {
  return {
    labels: steps.map(({ title }) => title),
    lines: parts.map(({ name, of }) => ({ name, unit: 'seconds', values: steps.map((step) => of(step) / 1000) })),
  };
}
