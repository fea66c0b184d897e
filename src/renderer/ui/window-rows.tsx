/**
 * Rows of any height in a box that scrolls with what stands above and below them: only those near what is in view are drawn. Must not know what a row is.
 */
import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';

export function WindowRows<T>({
  rows,
  keyOf,
  label,
  height,
  gap = 0,
  keep = -1,
  children,
}: {
  rows: readonly T[];
  keyOf: (row: T) => string;
  /** Names the list for a screen reader. */
  label: string;
  /** Of a row until it is measured, px. */
  height: (row: T) => number;
  gap?: number;
  /** Index of the row that is always drawn: keys act on it, and it may have the focus. */
  keep?: number;
  children: (row: T) => ReactNode;
}) {
  const list = useRef<HTMLUListElement>(null);
  const above = useAbove(list);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => boxOf(list.current),
    estimateSize: (index) => (rows[index] === undefined ? 0 : height(rows[index])),
    getItemKey: (index) => (rows[index] === undefined ? index : keyOf(rows[index])),
    overscan: 5,
    gap,
    scrollMargin: above,
    rangeExtractor: (range) => {
      const drawn = defaultRangeExtractor(range);
      return keep < 0 || keep >= rows.length || drawn.includes(keep) ? drawn : [...drawn, keep].sort((a, b) => a - b);
    },
  });
  return (
    <ul ref={list} aria-label={label} className="relative" style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const row = rows[item.index];
        return (
          row !== undefined && (
            <li
              key={item.key}
              data-index={item.index}
              ref={virtual.measureElement}
              className="absolute inset-x-0"
              style={{ top: item.start - above }}
            >
              {children(row)}
            </li>
          )
        );
      })}
    </ul>
  );
}

const boxOf = (list: HTMLElement | null): HTMLElement | null => list?.closest<HTMLElement>('[data-scroll-box]') ?? null;

/** How far below the top of its box the list begins, px, whatever stands above it. */
function useAbove(list: { readonly current: HTMLElement | null }): number {
  const [above, setAbove] = useState(0);
  useLayoutEffect(() => {
    const box = boxOf(list.current);
    if (box === null) return;
    const measure = () => {
      const from = list.current?.getBoundingClientRect().top;
      if (from !== undefined) setAbove(Math.round(from - box.getBoundingClientRect().top + box.scrollTop));
    };
    measure();
    const observer = new ResizeObserver(measure);
    for (const part of box.children) observer.observe(part);
    return () => observer.disconnect();
  }, [list]);
  return above;
}
