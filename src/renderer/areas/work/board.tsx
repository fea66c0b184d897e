/** A campaign's board: columns by what a person needs to know, or waves by what waits for what. */
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import type { Board as BoardData } from '../../../contracts/factory/board.ts';
import type { NodeCard } from '../../../contracts/factory/node.ts';
import { usePendingApprovals } from '../../base/approvals.ts';
import { useBots } from '../../base/floors.tsx';
import { useServices } from '../../base/services.tsx';
import { useNarrow } from '../../base/use-narrow.ts';
import { Empty } from '../../ui/list-states.tsx';
import { filterGroups, groupsByNeed, groupsByWave, questionsOf } from './board-groups.ts';
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
  const { queries } = useServices();
  const narrow = useNarrow();
  const approvals = usePendingApprovals();
  const all = useQuery(queries.approvals).data?.approvals ?? [];
  /** Answered on this board, with its node: each stays on its card as one line, and says who was first. */
  const [answered, setAnswered] = useState<ReadonlyMap<string, string>>(new Map());
  /** The question that keys answer; null: the first on the board. */
  const [asked, setAsked] = useState<string | null>(null);
  const bots = useBots();
  const nodes = useMemo(() => board.waves.flatMap((wave) => wave.nodes), [board]);
  const titles = useMemo(() => new Map(nodes.map((node) => [node.nodeId, node.title])), [nodes]);
  /** The question that has waited longest first: it stands on the step's card. */
  const questions = useMemo(() => questionsOf(nodes, approvals, bots), [nodes, approvals, bots]);
  const asking = useMemo(() => [...questions.keys()].map(({ nodeId }) => nodeId), [questions]);
  const groups = useMemo(
    () => filterGroups(waves ? groupsByWave(board) : groupsByNeed(board, new Set(asking)), filter),
    [board, waves, filter, asking],
  );
  // Beside an open step, keys answer that step.
  const inOrder = groups.flatMap((group) => group.nodes.flatMap((node) => questions.get(node)?.[0] ?? []));
  const first = selected !== null ? undefined : (inOrder.find(({ id }) => id === asked) ?? inOrder[0]);
  const propsOf = (node: NodeCard): Omit<NodeCardProps, 'node'> => {
    const [waiting, ...more] = questions.get(node) ?? [];
    const question = waiting ?? all.find(({ id, state }) => state === 'resolved' && answered.get(id) === node.nodeId);
    return {
      selected: node.nodeId === selected,
      titleOf: (id) => titles.get(id),
      question,
      more: more.length,
      asked: question !== undefined && question === first,
      onOpen,
      onAsked: ({ id }) => setAsked(id),
      onAnswering: ({ id }) => setAnswered((old) => new Map([[id, node.nodeId], ...old])),
    };
  };

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
