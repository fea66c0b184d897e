/** Runs that were started from a prompt, a row a bot; several are kept or discarded together. */
import { lazy, Suspense, useState } from 'react';
import { SelectionBar, useSelection } from '../../base/selection.tsx';
import { Button } from '../../ui/button.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { later } from '../../ui/later.ts';
import type { QuickRow } from './quick-rows.ts';
import { QuickRunRow } from './quick-run-row.tsx';

const EndRunsDialog = lazy(
  later(() => import('./end-runs-dialog.tsx').then((module) => ({ default: module.EndRunsDialog }))),
);
type Outcome = 'kept' | 'discarded';

export function QuickRunList({
  rows,
  ended = false,
  label,
  first,
  what,
}: {
  rows: readonly QuickRow[];
  /** They wait for their outcome, or have one. */
  ended?: boolean;
  /** Names the list for a screen reader. */
  label: string;
  /** So many are shown at first. */
  first: number;
  /** What they are, for a screen reader: "runs under way". */
  what: string;
}) {
  const open = rows.filter(({ bot }) => bot.outcome === null);
  const selection = useSelection(open.map(({ key }) => key));
  const [ending, setEnding] = useState<{ rows: readonly QuickRow[]; outcome: Outcome } | null>(null);
  const end = (outcome: Outcome) =>
    setEnding({ outcome, rows: open.filter(({ key }) => selection.chosen.includes(key)) });
  return (
    <>
      <FirstRows rows={rows} first={first} what={what}>
        {(shown) => (
          <ul aria-label={label}>
            {shown.map((row) => (
              <QuickRunRow key={row.key} row={row} ended={ended} selection={open.length > 1 ? selection : null} />
            ))}
          </ul>
        )}
      </FirstRows>
      <SelectionBar selection={selection} label={`Selected ${what}`}>
        <Button onClick={() => end('kept')}>Keep…</Button>
        <Button onClick={() => end('discarded')}>Discard…</Button>
      </SelectionBar>
      {ending !== null && (
        <Suspense>
          <EndRunsDialog {...ending} onDone={selection.clear} onClose={() => setEnding(null)} />
        </Suspense>
      )}
    </>
  );
}
