/** Cards of nodes, one below the other, under headings. Only those in view are drawn: a board may have thousands. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { NodeCard as Card } from '../../../contracts/factory/node.ts';
import type { NodeGroup } from './board-groups.ts';
import { NodeCard, type NodeCardProps } from './node-card.tsx';

type Row =
  | { readonly kind: 'heading'; readonly key: string; readonly title: string; readonly count: number }
  | { readonly kind: 'empty'; readonly key: string; readonly text: string }
  | { readonly kind: 'node'; readonly key: string; readonly node: Card };

function rowsOf(groups: readonly NodeGroup[], headings: boolean): Row[] {
  return groups.flatMap((group): Row[] => [
    ...(headings ? [{ kind: 'heading' as const, key: group.key, title: group.title, count: group.nodes.length }] : []),
    ...(group.nodes.length === 0 && group.empty !== ''
      ? [{ kind: 'empty' as const, key: `${group.key}-empty`, text: group.empty }]
      : []),
    ...group.nodes.map((node) => ({ kind: 'node' as const, key: `${node.dagId} ${node.nodeId}`, node })),
  ]);
}

export interface NodeListProps {
  readonly groups: readonly NodeGroup[];
  readonly headings: boolean;
  /** Names the list for a screen reader. */
  readonly label: string;
  readonly propsOf: (node: Card) => Omit<NodeCardProps, 'node'>;
}

export function NodeList({ groups, headings, label, propsOf }: NodeListProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const rows = rowsOf(groups, headings);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => (rows[index]?.kind === 'node' ? 84 : 36),
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 8,
  });
  return (
    <div ref={scroll} className="min-h-0 flex-1 overflow-y-auto">
      <ul aria-label={label} className="relative" style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map((item) => {
          const row = rows[item.index];
          if (row === undefined) return null;
          return (
            <li
              key={row.key}
              data-index={item.index}
              ref={virtual.measureElement}
              className="absolute inset-x-0 top-0 px-2 pb-2"
              style={{ transform: `translateY(${item.start}px)` }}
            >
              {row.kind === 'heading' && (
                <h2 className="flex h-7 items-end gap-2 px-0.5 text-meta font-semibold text-muted">
                  {row.title}
                  {!row.key.startsWith('wave-') && <span className="font-normal tabular-nums">{row.count}</span>}
                </h2>
              )}
              {row.kind === 'empty' && <p className="px-0.5 text-meta text-faint">{row.text}</p>}
              {row.kind === 'node' && <NodeCard node={row.node} {...propsOf(row.node)} />}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
