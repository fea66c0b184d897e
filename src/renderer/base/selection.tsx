/** Rows of a list that are ticked to act on them together, found by their words and grouped by what they share. Must not know what the rows are. */
import { type ReactNode, useMemo, useState } from 'react';
import { goToRows } from '../ui/arrow-rows.ts';
import { Button } from '../ui/button.tsx';
import type { Action } from './actions.ts';
import { useAddActions } from './services.tsx';

export interface Selection {
  /** In the order of the list; what is no longer in the list is not among them. */
  readonly chosen: readonly string[];
  has(id: string): boolean;
  set(ids: readonly string[], on: boolean): void;
  clear(): void;
}

/** `ids`: of the rows that can be ticked now. */
export function useSelection(ids: readonly string[]): Selection {
  const [ticked, setTicked] = useState<ReadonlySet<string>>(new Set());
  return {
    chosen: ids.filter((id) => ticked.has(id)),
    has: (id) => ticked.has(id),
    set: (changed, on) =>
      setTicked((old) => {
        const next = new Set(old);
        for (const id of changed) {
          if (on) next.add(id);
          else next.delete(id);
        }
        return next;
      }),
    clear: () => setTicked(new Set()),
  };
}

/** `x` ticks the row that has the focus; without one, the row that the page names. A row carries its id as `data-ticks`. */
export function useTickKey(group: Action['group'], title: string, current: string | null = null): void {
  const actions = useMemo<readonly Action[]>(
    () => [
      {
        ...{ id: 'tick', title, group, changes: false, keys: 'x' },
        run: () => {
          const focused = document.activeElement?.closest('[data-ticks]');
          const row = focused ?? document.querySelector(`[data-ticks="${CSS.escape(current ?? '')}"]`);
          row?.querySelector<HTMLInputElement>('[data-tick]')?.click();
        },
      },
    ],
    [group, title, current],
  );
  useAddActions(actions);
}

const boxClass = 'size-4 shrink-0 accent-accent pointer-coarse:size-6';

export function Tick({
  selection,
  id,
  label,
  className = '',
}: {
  selection: Selection;
  id: string;
  label: string;
  className?: string;
}) {
  return (
    <input
      type="checkbox"
      data-tick="true"
      aria-label={`Select ${label}`}
      checked={selection.has(id)}
      onChange={(event) => selection.set([id], event.target.checked)}
      className={`${boxClass} ${className}`}
    />
  );
}

/** One tick for all of these. */
export function TickAll({ selection, ids, label }: { selection: Selection; ids: readonly string[]; label: string }) {
  return (
    <input
      type="checkbox"
      aria-label={`Select all of ${label}`}
      checked={ids.length > 0 && ids.every(selection.has)}
      onChange={(event) => selection.set(ids, event.target.checked)}
      className={boxClass}
    />
  );
}

/** What can be done with the ticked rows; while none is ticked, nothing. Stands below the rows, so that none moves as the first is ticked. */
export function SelectionBar({
  selection,
  label,
  children,
}: {
  selection: Selection;
  /** Names the bar for a screen reader: "Selected questions". */
  label: string;
  children: ReactNode;
}) {
  if (selection.chosen.length === 0) return null;
  return (
    <div
      role="toolbar"
      aria-label={label}
      className="sticky bottom-0 z-20 flex flex-wrap items-center gap-2 rounded-panel border border-line bg-raised px-3 py-1.5 shadow-float"
    >
      <span className="mr-auto tabular-nums">{selection.chosen.length} selected</span>
      <Button kind="quiet" onClick={selection.clear}>
        Clear
      </Button>
      {children}
    </div>
  );
}

/** The words that a list is searched for, and what its rows are grouped by. */
export function FindAndGroup<G extends string>({
  label,
  text,
  onText,
  grouping,
  groupings,
  onGrouping,
  groupLabel,
  hint = 'Search',
}: {
  label: string;
  text: string;
  onText: (text: string) => void;
  grouping: G;
  groupings: Readonly<Record<G, string>>;
  onGrouping: (grouping: G) => void;
  groupLabel: string;
  hint?: string;
}) {
  return (
    <>
      <input
        type="search"
        data-filter="true"
        value={text}
        onChange={(event) => onText(event.target.value)}
        onKeyDown={(event) => goToRows(event)}
        aria-label={label}
        placeholder={hint}
        className="h-7 w-44 min-w-0 rounded-control border border-line bg-window px-2 max-sm:flex-1 pointer-coarse:h-10"
      />
      <select
        aria-label={groupLabel}
        value={grouping}
        onChange={(event) => onGrouping(event.target.value as G)}
        className="h-7 rounded-control border border-line bg-raised px-1.5 pointer-coarse:h-10"
      >
        {Object.entries<string>(groupings).map(([key, word]) => (
          <option key={key} value={key}>
            {word}
          </option>
        ))}
      </select>
    </>
  );
}
