/** What bots used each day, in total, by bot, by model or by account. */
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { UsageDays, usageGroups } from '../../../contracts/factory/spending-routes.ts';
import { useServices } from '../../base/services.tsx';
import { useScheme } from '../../base/use-theme.ts';
import { Card } from '../../ui/card.tsx';
import { Chart } from '../../ui/chart/chart.tsx';
import { type ChartData, daysBetween, linesOf } from '../../ui/chart/chart-data.ts';
import { Empty, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Pick } from '../../ui/pick.tsx';

/** Transcripts are read without an event; ms. */
const lookEvery = 30_000;

type By = (typeof usageGroups)[number];
const groups: Readonly<Record<By, string>> = {
  day: 'All bots',
  bot: 'By bot',
  model: 'By model',
  account: 'By account',
};

const measures = {
  cents: { word: 'Cost', of: (row: Row) => row.cents / 100, format: (value: number) => `$${value.toFixed(2)}` },
  tokens: {
    word: 'Tokens',
    of: (row: Row) => row.inputTokens + row.outputTokens,
    format: (value: number) => compact.format(value),
  },
  requests: { word: 'Requests', of: (row: Row) => row.requests, format: (value: number) => compact.format(value) },
} as const;
type Measure = keyof typeof measures;
type Row = UsageDays['rows'][number];

const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const spans = [7, 30, 90] as const;

export function UsageDaysCard() {
  const { queries } = useServices();
  const scheme = useScheme();
  const [by, setBy] = useState<By>('day');
  const [measure, setMeasure] = useState<Measure>('cents');
  const [days, setDays] = useState<number>(30);
  const usage = useQuery({ ...queries.usageDays(by, days), staleTime: 0, refetchInterval: lookEvery });
  const chart = useMemo(() => (usage.data === undefined ? null : chartOf(usage.data, measure)), [usage.data, measure]);
  const { word, format } = measures[measure];
  return (
    <Card title="Usage by day">
      <div className="flex flex-wrap items-center gap-2 px-3 pt-2.5">
        <Pick label="Measure" value={measure} onChange={(key) => setMeasure(key as Measure)}>
          {Object.entries(measures).map(([key, one]) => [key, one.word])}
        </Pick>
        <Pick label="Group" value={by} onChange={(key) => setBy(key as By)}>
          {Object.entries(groups)}
        </Pick>
        <Pick label="Days" value={String(days)} onChange={(key) => setDays(Number(key))}>
          {spans.map((span) => [String(span), `${span} days`])}
        </Pick>
      </div>
      <ListStates
        source={usage}
        skeleton={<SkeletonRows count={1} height={250} />}
        isEmpty={(data) => data.rows.length === 0}
        empty={<Empty>No bot used a model in this period. What bots use appears here day by day (UTC).</Empty>}
      >
        {() =>
          chart !== null && (
            <Chart
              name={`${word} by day`}
              first="Day (UTC)"
              data={chart}
              kind={by === 'day' ? 'bars' : 'lines'}
              scheme={scheme}
              format={format}
            />
          )
        }
      </ListStates>
    </Card>
  );
}

/** An own sign-in is an account that has no name of its own. */
function nameOf(by: By, name: string | null, word: string): string {
  if (by !== 'account') return name ?? word;
  return name === null ? 'No account' : name.replace(/\/default$/, ', your own sign-in');
}

function chartOf({ from, to, by, rows }: UsageDays, measure: Measure): ChartData {
  const labels = daysBetween(from, to);
  const { of, word } = measures[measure];
  return {
    labels,
    lines: linesOf(
      labels,
      rows.map((row) => ({ label: row.day, name: nameOf(by, row.name, word), value: of(row) })),
    ),
  };
}
