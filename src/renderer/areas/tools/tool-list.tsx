/** The tools of one server or of all, narrowed by a filter that is in the address. Only the rows in view are drawn: a server may list thousands. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { Search } from 'lucide-react';
import { useLayoutEffect, useMemo, useRef, useState } from 'react';
import type { ToolInfo } from '../../../contracts/tool-server/tools.ts';
import { useNarrow, useTouch } from '../../base/use-narrow.ts';
import { goToRows, moveByArrows } from '../../ui/arrow-rows.ts';
import { Button } from '../../ui/button.tsx';
import { countWords } from '../../ui/count-words.ts';
import { type ListSource, ListStates, SkeletonRows } from '../../ui/list-states.tsx';
import { Hints } from './hints.tsx';
import { safeName } from './queries.ts';
import { filterTools, titleOf } from './tool-words.ts';

interface ToolListProps {
  readonly source: ListSource<readonly ToolInfo[]>;
  /** Key of a server; null: all. */
  readonly group: string | null;
  readonly filter: string;
  /** Shown if there are no tools. */
  readonly none: string;
  readonly onFilter: (text: string) => void;
  readonly onOpen: (name: string) => void;
}

export function ToolList({ source, group, filter, none, onFilter, onOpen }: ToolListProps) {
  const all = useMemo(() => filterTools(source.data ?? [], { group, text: '' }), [source.data, group]);
  const shown = useMemo(() => filterTools(all, { group: null, text: filter }), [all, filter]);
  return (
    <section aria-label="Tools" className="flex min-w-0 flex-1 shrink-0 flex-col">
      <div className="sticky top-0 z-20 flex h-10 shrink-0 items-center gap-3 border-b border-line bg-panel px-3 pointer-coarse:h-14">
        <div className="relative w-64 max-w-full min-w-0">
          <Search
            className="pointer-events-none absolute top-1/2 left-2 size-3.5 -translate-y-1/2 text-faint"
            aria-hidden="true"
          />
          <input
            type="search"
            data-filter="true"
            aria-label="Filter tools"
            placeholder="Filter tools"
            value={filter}
            autoComplete="off"
            spellCheck={false}
            onChange={(event) => onFilter(event.target.value)}
            onKeyDown={(event) => goToRows(event)}
            className="h-7 w-full rounded-control border border-line bg-window pr-2 pl-7 pointer-coarse:h-10"
          />
        </div>
        {source.data !== undefined && (
          <span role="status" className="ml-auto shrink-0 text-meta text-muted tabular-nums">
            {filter === '' ? countWords(all.length, 'tool') : `${shown.length} of ${all.length}`}
          </span>
        )}
      </div>
      <ListStates
        source={source}
        skeleton={<SkeletonRows count={12} />}
        isEmpty={() => shown.length === 0}
        empty={
          filter !== '' ? (
            <div data-state="empty" className="flex flex-col items-start gap-2 p-3 text-muted">
              <p>No tool matches this filter.</p>
              <Button onClick={() => onFilter('')}>Show all</Button>
            </div>
          ) : (
            <p data-state="empty" className="p-3 text-muted">
              {none}
            </p>
          )
        }
      >
        {() => <Rows tools={shown} onOpen={onOpen} />}
      </ListStates>
    </section>
  );
}

function Rows({ tools, onOpen }: { tools: readonly ToolInfo[]; onOpen: (name: string) => void }) {
  const narrow = useNarrow();
  const list = useRef<HTMLUListElement>(null);
  const touch = useTouch();
  const rowHeight = narrow ? 52 : touch ? 44 : 28;
  /** What stands above the rows in the part that scrolls. */
  const [above, setAbove] = useState(0);
  useLayoutEffect(() => {
    const scroll = list.current?.closest('[data-scroll]');
    if (list.current === null || scroll == null) return;
    const top = list.current.getBoundingClientRect().top - scroll.getBoundingClientRect().top + scroll.scrollTop;
    setAbove((old) => (Math.abs(old - top) < 1 ? old : top));
  });
  const virtual = useVirtualizer({
    count: tools.length,
    getScrollElement: () => list.current?.closest('[data-scroll]') ?? null,
    estimateSize: () => rowHeight,
    getItemKey: (index) => tools[index]?.name ?? index,
    scrollMargin: above,
    overscan: 20,
  });
  return (
    <ul ref={list} className="relative" style={{ height: virtual.getTotalSize() }} onKeyDown={moveByArrows}>
      {virtual.getVirtualItems().map((item) => {
        const tool = tools[item.index];
        if (tool === undefined) return null;
        const title = titleOf(tool);
        return (
          <li
            key={tool.name}
            className="absolute inset-x-0 top-0"
            style={{ height: rowHeight, transform: `translateY(${item.start - above}px)` }}
          >
            <button
              type="button"
              data-row="true"
              data-tool={tool.name}
              onClick={() => onOpen(tool.name)}
              className="flex h-full w-full min-w-0 items-center gap-x-3 px-3 text-left hover:bg-raised max-sm:flex-wrap max-sm:content-center"
            >
              <span
                className="min-w-0 shrink-0 truncate font-mono text-code max-sm:w-full sm:w-60"
                title={`${tool.name} (${safeName(tool.name)} for clients that allow no dots)`}
              >
                {tool.name}
              </span>
              <span className="min-w-0 flex-1 truncate text-muted max-sm:text-meta" title={tool.description}>
                {tool.description?.split('\n', 1)[0] ?? title}
              </span>
              <Hints tool={tool} />
            </button>
          </li>
        );
      })}
    </ul>
  );
}
