/**
 * The rows of the ledger, newest first. Those of the whole ledger are numbered without a gap, so any place of it can be gone to and is
 * read when it is looked at; of a filter older ones are read on request.
 */
import { useQueries, useQueryClient } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef } from 'react';
import type { LedgerRow } from '../../../contracts/factory/work-engine/ledger.ts';
import { ledgerSentence } from '../../../contracts/factory/work-engine/ledger-words.ts';
import type { LedgerFilter } from '../../base/data/keys.ts';
import { useServices } from '../../base/services.tsx';
import { useTouch } from '../../base/use-narrow.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAct } from '../../ui/use-act.ts';
import { type LedgerRows, ledgerPage, ledgerPageQuery, olderRows } from './queries.ts';
import { useActorName } from './use-actor-name.ts';

/** Beyond some 17 million pixels a browser's own scrolling ends. */
const maxPixels = 16_800_000;

export function LedgerList({
  data,
  filter,
  selected,
  onOpen,
}: {
  data: LedgerRows;
  filter: LedgerFilter;
  selected: string | null;
  onOpen: (row: LedgerRow) => void;
}) {
  const { api, computer, keys } = useServices();
  const client = useQueryClient();
  const nameOf = useActorName();
  const scroll = useRef<HTMLDivElement>(null);
  const rowHeight = useTouch() ? 44 : 28;
  const maxRows = Math.floor(maxPixels / rowHeight);
  const whole = Object.keys(filter).length === 0;
  const newest = Number(data.rows[0]?.id ?? -1);
  const count = whole ? Math.min(newest + 1, maxRows) : data.rows.length;
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => (whole ? newest - index : (data.rows[index]?.id ?? index)),
    overscan: 8,
  });
  const items = virtual.getVirtualItems();
  const known = useMemo(() => new Map(data.rows.map((row) => [Number(row.id), row])), [data.rows]);
  const wanted = whole ? pagesOf(items.map(({ index }) => newest - index).filter((id) => !known.has(id))) : [];
  const pages = useQueries({ queries: wanted.map((page) => ledgerPageQuery(api.factory, computer, page)) });
  const rowAt = (index: number): LedgerRow | undefined => {
    if (!whole) return data.rows[index];
    const id = newest - index;
    return known.get(id) ?? pages[wanted.indexOf(Math.floor(id / ledgerPage))]?.data?.get(id);
  };
  const failure = pages.find(({ error }) => error !== null)?.error ?? null;

  const older = useAct(async () => {
    const known = await olderRows(api.factory, filter, data);
    client.setQueryData<LedgerRows>(keys.ledger(filter), (now) =>
      // Rows that arrived since then stay on top.
      now === undefined
        ? known
        : { ...now, rows: [...now.rows, ...known.rows.slice(data.rows.length)], more: known.more },
    );
  });

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div ref={scroll} className="min-h-0 flex-1 overflow-y-auto" onKeyDown={moveByArrows}>
      <ol aria-label="Rows" className="relative" style={{ height: virtual.getTotalSize() }}>
        {items.map((item) => {
          const row = rowAt(item.index);
          return (
            <li key={item.key} className="absolute inset-x-0" style={{ height: rowHeight, top: item.start }}>
              {row === undefined ? (
                <Coming id={newest - item.index} />
              ) : (
                <button
                  type="button"
                  data-row="true"
                  data-ledger={row.id}
                  aria-current={row.id === selected ? 'true' : undefined}
                  onClick={() => onOpen(row)}
                  className="grid h-full w-full grid-cols-[36px_minmax(0,1fr)_64px] items-center gap-2 px-3 text-left hover:bg-raised aria-[current]:bg-selected sm:grid-cols-[56px_minmax(0,1fr)_minmax(0,160px)_84px] sm:gap-3"
                >
                  <span className="text-right font-mono text-meta text-faint tabular-nums">{row.id}</span>
                  <span
                    className={`truncate ${row.body === null ? 'text-fail' : ''}`}
                    title={`${ledgerSentence(row)}\n${row.type} · ${row.subject}`}
                    data-kind={row.type}
                  >
                    {ledgerSentence(row)}
                  </span>
                  <span className="truncate text-meta text-muted max-sm:hidden" title={row.actor}>
                    {nameOf(row)}
                  </span>
                  <span className="truncate text-right text-meta text-faint">
                    <Ago at={row.at} />
                  </span>
                </button>
              )}
            </li>
          );
        })}
      </ol>
      <div className="flex items-center gap-3 p-3 text-meta text-muted">
        {whole ? (
          count > newest ? (
            'No older rows.'
          ) : (
            'To find older rows, filter by kind, subject or actor.'
          )
        ) : data.more ? (
          <Button onClick={() => older.run()} disabled={older.busy}>
            {older.busy ? 'Loading' : 'Show older rows'}
          </Button>
        ) : (
          'No older rows.'
        )}
        {older.failure !== null && <Problem error={older.failure} />}
        {failure !== null && <Problem error={failure} />}
      </div>
    </div>
  );
}

/** A row that is being read: which one it is, is known. */
function Coming({ id }: { id: number }) {
  return (
    <div className="grid h-full grid-cols-[36px_minmax(0,1fr)] items-center gap-2 px-3 sm:grid-cols-[56px_minmax(0,1fr)] sm:gap-3">
      <span className="text-right font-mono text-meta text-faint tabular-nums">{id}</span>
      <span aria-hidden="true" className="h-2.5 w-3/5 rounded-full bg-raised" />
    </div>
  );
}

function pagesOf(ids: readonly number[]): number[] {
  return [...new Set(ids.map((id) => Math.floor(id / ledgerPage)))];
}
