/** Cards of nodes, one below the other, under headings. Only those in view are drawn: a board may have thousands. */
import { useVirtualizer } from '@tanstack/react-virtual';
import { useRef } from 'react';
import type { NodeCard as Card } from '../../../contracts/factory/node.ts';
import type { NodeGroup } from './board-groups.ts';
import { NodeCard, type NodeCardProps } from './node-card.tsx';

type Row =
  | { readonly kind: 'heading'; readonly key: string; readonly title: string; readonly count: number }
  | { readonly kind: 'empty'; readonly key: string; readonly text: string }
  | { readonly kind: 'nodes'; readonly key: string; readonly nodes: readonly Card[] };

function rowsOf(groups: readonly NodeGroup[], headings: boolean, perRow: number): Row[] {
  return groups.flatMap((group): Row[] => [
    ...(headings ? [{ kind: 'heading' as const, key: group.key, title: group.title, count: group.nodes.length }] : []),
    ...(group.nodes.length === 0 && group.empty !== ''
      ? [{ kind: 'empty' as const, key: `${group.key}-empty`, text: group.empty }]
      : []),
    ...inRows(group.nodes, perRow).map((nodes) => ({
      kind: 'nodes' as const,
      key: `${nodes[0]?.dagId} ${nodes[0]?.nodeId}`,
      nodes,
    })),
  ]);
}

function inRows(nodes: readonly Card[], perRow: number): (readonly Card[])[] {
  return Array.from({ length: Math.ceil(nodes.length / perRow) }, (_, row) =>
    nodes.slice(row * perRow, (row + 1) * perRow),
  );
}

interface NodeListProps {
  /** Cards beside each other. */
  readonly perRow?: number;
  readonly groups: readonly NodeGroup[];
  readonly headings: boolean;
  /** Names the list for a screen reader. */
  readonly label: string;
  readonly propsOf: (node: Card) => Omit<NodeCardProps, 'node'>;
}

export function NodeList({ groups, headings, label, propsOf, perRow = 1 }: NodeListProps) {
  const scroll = useRef<HTMLDivElement>(null);
  const rows = rowsOf(groups, headings, perRow);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: (index) => (rows[index]?.kind === 'nodes' ? 84 : 36),
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
              {row.kind === 'nodes' && (
                <div
                  className="grid items-start gap-2"
                  style={{ gridTemplateColumns: `repeat(${perRow}, minmax(0, 1fr))` }}
                >
                  {row.nodes.map((node) => (
                    <NodeCard key={`${node.dagId} ${node.nodeId}`} node={node} {...propsOf(node)} />
                  ))}
                </div>
              )}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
