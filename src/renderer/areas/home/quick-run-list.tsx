/** Runs that were started from a prompt, a row a bot; many are searched and grouped, several are kept or discarded together. */
import { lazy, Suspense, useState } from 'react';
import { groupRows } from '../../base/found-rows.ts';
import { FindAndGroup, SelectionBar, useSelection } from '../../base/selection.tsx';
import { Button } from '../../ui/button.tsx';
import { FirstRows } from '../../ui/first-rows.tsx';
import { later } from '../../ui/later.ts';
import { nodeStatus, outcomeStatus } from '../../ui/status.tsx';
import { folderOf, type QuickRow, quickRowSays } from '../floor/runs/quick-rows.ts';
import { QuickRunRow } from './quick-run-row.tsx';

const EndRunsDialog = lazy(
  later(() => import('./end-runs-dialog.tsx').then((module) => ({ default: module.EndRunsDialog }))),
);
type Outcome = 'kept' | 'discarded';

const groupings = {
  none: 'No groups',
  repository: 'By repository',
  program: 'By program',
  state: 'By state',
} as const;
type Grouping = keyof typeof groupings;
const groupOf = {
  none: null,
  repository: folderOf,
  program: ({ who }: QuickRow) => who,
  state: ({ bot }: QuickRow) => (bot.outcome === null ? nodeStatus[bot.status].word : outcomeStatus[bot.outcome].word),
} as const;
/** So many are seen at a glance. */
const few = 3;

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
  const [text, setText] = useState('');
  const [grouping, setGrouping] = useState<Grouping>('none');
  const found = groupRows(
    rows.filter((row) => quickRowSays(row, text)),
    groupOf[grouping],
  ).flatMap((group) => group.rows);
  const open = found.filter(({ bot }) => bot.outcome === null);
  const selection = useSelection(open.map(({ key }) => key));
  const [ending, setEnding] = useState<{ rows: readonly QuickRow[]; outcome: Outcome } | null>(null);
  const end = (outcome: Outcome) =>
    setEnding({ outcome, rows: open.filter(({ key }) => selection.chosen.includes(key)) });
  return (
    <>
      {(rows.length > few || text !== '' || grouping !== 'none') && (
        <div className="flex flex-wrap items-center gap-2 border-b border-line px-3 py-1.5">
          <FindAndGroup
            label={`Search ${what}`}
            text={text}
            onText={setText}
            groupLabel={`Group ${what}`}
            grouping={grouping}
            groupings={groupings}
            onGrouping={setGrouping}
          />
        </div>
      )}
      {rows.length > 0 && found.length === 0 && <p className="p-3 text-muted">No run matches.</p>}
      <FirstRows rows={found} first={first} what={what}>
        {(shown) =>
          groupRows(shown, groupOf[grouping]).map(({ name, rows: list }) => (
            <section key={name} aria-label={name === '' ? undefined : name}>
              {name !== '' && <h3 className="px-3 pt-3 pb-1 text-meta font-semibold text-muted">{name}</h3>}
              <ul aria-label={name === '' ? label : `${label}: ${name}`}>
                {list.map((row) => (
                  <QuickRunRow key={row.key} row={row} ended={ended} selection={open.length > 1 ? selection : null} />
                ))}
              </ul>
            </section>
          ))
        }
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
