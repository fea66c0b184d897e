/** A campaign's board: columns by what a person needs to know, or waves by what waits for what. */
import { useMemo } from 'react';
import type { Board as BoardData } from '../../../contracts/factory/board.ts';
import type { NodeCard } from '../../../contracts/factory/node.ts';
import { usePendingApprovals } from '../../base/approvals.ts';
import { useNarrow } from '../../base/use-narrow.ts';
import { Empty } from '../../ui/list-states.tsx';
import { filterGroups, groupsByNeed, groupsByWave } from './board-groups.ts';
import type { NodeCardProps } from './node-card.tsx';
import { NodeList } from './node-list.tsx';

export function Board({
  board,
  waves,
  filter,
  selected,
  onOpen,
}: {
  board: BoardData;
  waves: boolean;
  filter: string;
  /** Id of the node that is open. */
  selected: string | null;
  onOpen: (node: NodeCard) => void;
}) {
  const narrow = useNarrow();
  const approvals = usePendingApprovals();
  const asking = useMemo(() => approvals.flatMap((one) => one.nodeId ?? []), [approvals]);
  const titles = useMemo(
    () => new Map(board.waves.flatMap((wave) => wave.nodes.map((node) => [node.nodeId, node.title]))),
    [board],
  );
  const groups = useMemo(
    () => filterGroups(waves ? groupsByWave(board) : groupsByNeed(board, new Set(asking)), filter),
    [board, waves, filter, asking],
  );
  const propsOf = (node: NodeCard): Omit<NodeCardProps, 'node'> => ({
    selected: node.nodeId === selected,
    titleOf: (id) => titles.get(id),
    approval: approvals.find((one) => one.nodeId === node.nodeId && one.dagId === node.dagId),
    onOpen,
  });

  if (titles.size === 0) return <Empty>The steps of its runs appear here. To begin, choose “Start a run”.</Empty>;
  if (filter !== '' && groups.every((group) => group.nodes.length === 0))
    return <Empty>No step matches “{filter}”.</Empty>;
  if (waves || narrow) {
    const shown = narrow && !waves ? groups.filter((group) => group.nodes.length > 0 || group.key === 'need') : groups;
    return (
      <NodeList
        groups={shown}
        headings
        label={waves ? 'Steps by wave' : 'Steps'}
        propsOf={propsOf}
        perRow={narrow ? 1 : selected === null ? 4 : 3}
      />
    );
  }
  return (
    <div className="grid min-h-0 flex-1 auto-cols-[minmax(168px,1fr)] grid-flow-col overflow-x-auto">
      {groups.map((group) => (
        <section
          key={group.key}
          aria-label={group.title}
          data-column={group.key}
          className="flex min-h-0 min-w-0 flex-col border-r border-line last:border-r-0"
        >
          <h2 className="flex h-9 shrink-0 items-center gap-2 px-2.5 font-semibold">
            <span className={`truncate ${group.key === 'need' && group.nodes.length > 0 ? 'text-need' : ''}`}>
              {group.title}
            </span>
            <span className="text-meta font-normal text-muted tabular-nums">{group.nodes.length}</span>
          </h2>
          <NodeList groups={[group]} headings={false} label={group.title} propsOf={propsOf} />
        </section>
      ))}
    </div>
  );
}
