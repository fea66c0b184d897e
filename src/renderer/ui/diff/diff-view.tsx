/**
 * A diff whose lines can be chosen, by mouse and by keyboard, with what belongs to a line shown below it. Only the rows in view are drawn, so that a
 * diff of fifty thousand lines scrolls. Signs and background, not green and red, which mean proven and failed. Must not know what a choice is for.
 */
// biome-ignore-all lint/a11y/useSemanticElements: rows that are drawn only while in view are placed one by one, which elements of a table are not
import { useVirtualizer } from '@tanstack/react-virtual';
import { MessageSquarePlus } from 'lucide-react';
import {
  type KeyboardEvent,
  type PointerEvent,
  type ReactNode,
  useEffect,
  useId,
  useMemo,
  useRef,
  useState,
} from 'react';
import { visibleText } from '../visible-text.ts';
import { counterparts, type DiffLine, type DiffRow, isLine, rangeOf } from './diff-rows.ts';
import type { Stretch, wordMarks } from './word-marks.ts';

const lineHeight = 18;
/** Of one line: more of it is cut, so that a file without line breaks does not fill the page. Characters. */
const maxShownLength = 2000;
/** Lines that PageUp and PageDown go over. */
const pageOf = 20;

const kindClass: Readonly<Record<DiffRow['kind'], string>> = {
  file: 'bg-panel font-medium',
  hunk: 'text-faint',
  note: 'text-faint',
  added: 'bg-selected',
  removed: 'bg-raised text-muted',
  same: '',
};
const signs: Readonly<Partial<Record<DiffRow['kind'], string>>> = { added: '+', removed: '−' };

interface Chosen {
  readonly anchor: number;
  readonly head: number;
}

export function DiffView({
  rows,
  label,
  below,
  goTo,
  onChoose,
  onFile,
}: {
  rows: readonly DiffRow[];
  /** Names it for a screen reader. */
  label: string;
  /** What stands below a row, by its number. */
  below: ReadonlyMap<number, ReactNode>;
  /** A row to show; another object shows it again. */
  goTo: { readonly row: number } | null;
  /** The lines from one row to the other were chosen. */
  onChoose: (from: number, to: number) => void;
  /** A file's name was pressed. */
  onFile?: ((path: string) => void) | undefined;
}) {
  const grid = useRef<HTMLDivElement>(null);
  const id = useId();
  const marks = useWordMarks();
  const pairs = useMemo(() => counterparts(rows), [rows]);
  const items = useMemo(
    () =>
      rows.flatMap((_, at) =>
        below.has(at)
          ? [
              { at, extra: false },
              { at, extra: true },
            ]
          : [{ at, extra: false }],
      ),
    [rows, below],
  );
  const virtual = useVirtualizer({
    count: items.length,
    getScrollElement: () => grid.current,
    estimateSize: (index) => (items[index]?.extra ? 96 : lineHeight),
    getItemKey: (index) => `${items[index]?.at} ${items[index]?.extra}`,
    overscan: 12,
  });
  const show = (row: number, align: 'auto' | 'start' = 'auto'): void => {
    const index = items.findIndex((item) => item.at === row);
    if (index !== -1) virtual.scrollToIndex(index, { align });
  };
  const { chosen, range, choose, handlers } = useLineChoice({ rows, show, onChoose });
  // biome-ignore lint/correctness/useExhaustiveDependencies: shown when it is asked for, not whenever the rows change
  useEffect(() => {
    if (goTo === null) return;
    show(goTo.row, 'start');
    if (isLine(rows[goTo.row])) choose(goTo.row);
  }, [goTo]);

  return (
    <div
      ref={grid}
      role="grid"
      aria-label={label}
      aria-multiselectable="true"
      aria-rowcount={rows.length}
      aria-activedescendant={range === null || chosen === null ? undefined : `${id}-${chosen.head}`}
      tabIndex={0}
      {...handlers}
      className="h-full min-h-0 min-w-0 overflow-y-auto rounded-control border border-line bg-terminal font-mono text-code"
    >
      <div role="presentation" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const { at, extra } = items[item.index] ?? { at: 0, extra: false };
          const row = rows[at];
          if (row === undefined) return null;
          const place = {
            ref: virtual.measureElement,
            'data-index': item.index,
            style: { transform: `translateY(${item.start}px)` },
          };
          if (extra) {
            return (
              <div
                key={item.key}
                role="row"
                tabIndex={-1}
                className="absolute inset-x-0 top-0 font-sans text-ui"
                {...place}
              >
                <div role="gridcell" tabIndex={-1} aria-colspan={2}>
                  {below.get(at)}
                </div>
              </div>
            );
          }
          const selected = range !== null && at >= range.from && at <= range.to && isLine(row);
          return (
            <div
              key={item.key}
              role="row"
              tabIndex={-1}
              id={`${id}-${at}`}
              aria-rowindex={at + 1}
              aria-selected={isLine(row) ? selected : undefined}
              data-at={at}
              data-line={row.kind}
              className={`group absolute inset-x-0 top-0 flex ${kindClass[row.kind]} ${selected ? 'shadow-[inset_3px_0_var(--accent)]' : ''}`}
              {...place}
            >
              {isLine(row) ? (
                <Line row={row}>
                  <LineText rows={rows} at={at} partner={pairs.get(at)} marks={marks} />
                </Line>
              ) : (
                <div
                  role="gridcell"
                  tabIndex={-1}
                  aria-colspan={2}
                  className="min-w-0 flex-1 px-2 wrap-anywhere whitespace-pre-wrap"
                >
                  {row.kind === 'file' ? <FileName row={row} onFile={onFile} /> : visibleText(row.text)}
                </div>
              )}
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Which words of a changed line are marked; null while that is being loaded. */
function useWordMarks(): typeof wordMarks | null {
  const [words, setWords] = useState<{ readonly marks: typeof wordMarks } | null>(null);
  useEffect(() => {
    let here = true;
    void import('./word-marks.ts').then(
      ({ wordMarks: marks }) => here && setWords({ marks }),
      // Without them the diff says the same.
      () => {},
    );
    return () => {
      here = false;
    };
  }, []);
  return words?.marks ?? null;
}

/** The line so many lines on, past headings; the last one there is. */
function lineFrom(rows: readonly DiffRow[], start: number, steps: number): number {
  let found = start;
  let left = Math.abs(steps);
  for (let at = start + Math.sign(steps); left > 0 && at >= 0 && at < rows.length; at += Math.sign(steps)) {
    if (!isLine(rows[at])) continue;
    found = at;
    left -= 1;
  }
  return found;
}

/** Choosing a line or several, by keys on the grid and by pressing and dragging in it. */
function useLineChoice({
  rows,
  show,
  onChoose,
}: {
  rows: readonly DiffRow[];
  show: (row: number) => void;
  onChoose: (from: number, to: number) => void;
}) {
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const dragging = useRef(false);
  const range =
    chosen === null || !isLine(rows[chosen.anchor]) || !isLine(rows[chosen.head])
      ? null
      : rangeOf(rows, chosen.anchor, chosen.head);
  const choose = (row: number): void => setChosen({ anchor: row, head: row });

  function move(steps: number, extend: boolean): void {
    const first = rows.findIndex(isLine);
    if (first === -1) return;
    if (chosen === null || range === null) {
      choose(first);
      show(first);
      return;
    }
    const next = lineFrom(rows, chosen.head, steps);
    if (!extend) {
      choose(next);
      show(next);
      return;
    }
    const { from, to } = rangeOf(rows, chosen.anchor, next);
    const head = next < chosen.anchor ? from : to;
    setChosen({ anchor: chosen.anchor, head });
    show(head);
  }

  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    j: 1,
    J: 1,
    ArrowUp: -1,
    k: -1,
    K: -1,
    PageDown: pageOf,
    PageUp: -pageOf,
    Home: -rows.length,
    End: rows.length,
  };

  function onKeyDown(event: KeyboardEvent<HTMLDivElement>): void {
    // What is typed in a comment belongs to it.
    if (event.target !== event.currentTarget || event.ctrlKey || event.metaKey || event.altKey) return;
    const by = steps[event.key];
    if (by !== undefined) move(by, event.shiftKey);
    else if ((event.key === 'Enter' || event.key === 'c') && range !== null) onChoose(range.from, range.to);
    else return;
    event.preventDefault();
  }

  const rowAt = (element: Element | null): number | null => {
    const at = element?.closest('[data-at]')?.getAttribute('data-at');
    return at === null || at === undefined || !isLine(rows[Number(at)]) ? null : Number(at);
  };

  function onPointerDown(event: PointerEvent<HTMLDivElement>): void {
    const target = event.target as Element;
    const row = rowAt(target);
    if (row === null || event.button !== 0) return;
    setChosen({ anchor: event.shiftKey && chosen !== null ? chosen.anchor : row, head: row });
    if (target.closest('[data-gutter]') === null) return;
    dragging.current = true;
    event.currentTarget.setPointerCapture(event.pointerId);
    event.preventDefault();
    event.currentTarget.focus({ preventScroll: true });
  }

  function onPointerMove(event: PointerEvent<HTMLDivElement>): void {
    if (!dragging.current) return;
    const row = rowAt(document.elementFromPoint(event.clientX, event.clientY));
    if (row !== null) setChosen((old) => (old === null || old.head === row ? old : { ...old, head: row }));
  }

  function onPointerUp(): void {
    if (!dragging.current) return;
    dragging.current = false;
    if (range !== null) onChoose(range.from, range.to);
  }

  return {
    chosen,
    range,
    choose,
    handlers: {
      onKeyDown,
      onPointerDown,
      onPointerMove,
      onPointerUp,
      onPointerCancel() {
        dragging.current = false;
      },
    },
  };
}

/** A line's number, where a comment on it begins, and its sign before its text. */
function Line({ row, children }: { row: DiffLine; children: ReactNode }) {
  return (
    <>
      <div
        role="gridcell"
        tabIndex={-1}
        data-gutter="true"
        title="Click to comment on this line; drag for several"
        className="relative w-12 shrink-0 cursor-pointer touch-none pr-2 text-right text-faint tabular-nums select-none"
      >
        <MessageSquarePlus
          className="absolute top-0.5 left-1 hidden size-3.5 text-accent group-hover:block"
          aria-hidden="true"
        />
        {row.after ?? row.before}
      </div>
      <div
        role="gridcell"
        tabIndex={-1}
        className="min-w-0 flex-1 pr-2 pl-4 -indent-4 wrap-anywhere whitespace-pre-wrap"
      >
        <span className="inline-block w-4 indent-0 select-none">{signs[row.kind] ?? ' '}</span>
        {children}
      </div>
    </>
  );
}

function FileName({
  row: { path, from },
  onFile,
}: {
  row: DiffRow & { kind: 'file' };
  onFile: ((path: string) => void) | undefined;
}) {
  const name = `${visibleText(path)}${from === null ? '' : ` (was ${visibleText(from)})`}`;
  if (onFile === undefined) return name;
  return (
    <button type="button" title="Open the file" className="text-left hover:underline" onClick={() => onFile(path)}>
      {name}
    </button>
  );
}

function LineText({
  rows,
  at,
  partner,
  marks,
}: {
  rows: readonly DiffRow[];
  at: number;
  partner: number | undefined;
  marks: typeof wordMarks | null;
}) {
  const row = rows[at];
  const other = partner === undefined ? undefined : rows[partner];
  const stretches = useMemo((): readonly Stretch[] | null => {
    if (marks === null || !isLine(row) || !isLine(other)) return null;
    const found = row.kind === 'removed' ? marks(row.text, other.text) : marks(other.text, row.text);
    return found === null ? null : row.kind === 'removed' ? found.before : found.after;
  }, [row, other, marks]);
  if (!isLine(row)) return null;
  const end = row.crlf && isLine(other) && !other.crlf ? '␍' : '';
  if (stretches === null) {
    const cut = row.text.length - maxShownLength;
    const shown = visibleText(cut > 0 ? row.text.slice(0, maxShownLength) : row.text) + end;
    return (
      <>
        {shown}
        {cut > 0 && <span className="text-faint"> … and {cut} more characters</span>}
      </>
    );
  }
  let from = 0;
  return (
    <>
      {stretches.map(({ text, marked }) => {
        const key = from;
        from += text.length;
        return marked ? (
          <mark key={key} className="rounded-xs bg-accent/30 text-ink">
            {visibleText(text)}
          </mark>
        ) : (
          <span key={key}>{visibleText(text)}</span>
        );
      })}
      {end}
    </>
  );
}
