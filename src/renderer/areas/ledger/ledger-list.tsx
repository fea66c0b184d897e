/** The rows of the ledger, newest first; older ones are read on request. */
import { useQueryClient } from '@tanstack/react-query';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { LedgerRow } from '../../../contracts/factory/work-engine/ledger.ts';
import { useServices } from '../../app/services.tsx';
import type { LedgerFilter } from '../../data/keys.ts';
import { type LedgerRows, olderRows } from '../../data/ledger-rows.ts';
import { moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useActorName } from './use-actor-name.ts';

const rowHeight = 28;

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
  const { api, keys } = useServices();
  const client = useQueryClient();
  const nameOf = useActorName();
  const scroll = useRef<HTMLDivElement>(null);
  const virtual = useVirtualizer({
    count: data.rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => data.rows[index]?.id ?? index,
    overscan: 20,
  });

  const older = useAct(async () => {
    const known = await olderRows(api.factory, filter, data);
    client.setQueryData<LedgerRows>(keys.ledger(filter), (now) =>
      // What came in meanwhile stays on top.
      now === undefined
        ? known
        : { ...now, rows: [...now.rows, ...known.rows.slice(data.rows.length)], more: known.more },
    );
  });

  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: arrow keys move between the rows inside
    <div ref={scroll} className="min-h-0 flex-1 overflow-y-auto" onKeyDown={moveByArrows}>
      <ol aria-label="Rows" className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = data.rows[item.index];
          if (row === undefined) return null;
          return (
            <li
              key={row.id}
              className="absolute inset-x-0 top-0"
              style={{ height: rowHeight, transform: `translateY(${item.start}px)` }}
            >
              <button
                type="button"
                data-row="true"
                data-ledger={row.id}
                aria-current={row.id === selected ? 'true' : undefined}
                onClick={() => onOpen(row)}
                className="grid h-full w-full grid-cols-[36px_minmax(0,5fr)_minmax(0,4fr)_64px] items-center gap-2 px-3 text-left hover:bg-raised aria-[current]:bg-selected sm:grid-cols-[56px_180px_minmax(0,1fr)_minmax(0,160px)_84px] sm:gap-3"
              >
                <span className="text-right font-mono text-meta text-faint tabular-nums">{row.id}</span>
                <span className={`truncate ${row.body === null ? 'text-fail' : ''}`}>{row.type}</span>
                <span className="truncate font-mono text-meta text-muted">{row.subject}</span>
                <span className="truncate text-meta text-muted max-sm:hidden" title={row.actor}>
                  {nameOf(row.actor)}
                </span>
                <span className="truncate text-right text-meta text-faint">
                  <Ago at={row.at} />
                </span>
              </button>
            </li>
          );
        })}
      </ol>
      <div className="flex items-center gap-3 p-3 text-meta text-muted">
        {data.more ? (
          <Button onClick={() => older.run()} disabled={older.busy}>
            {older.busy ? 'Reading' : 'Older rows'}
          </Button>
        ) : (
          'This is the beginning.'
        )}
        {older.failure !== null && <Problem error={older.failure} />}
      </div>
    </div>
  );
}
