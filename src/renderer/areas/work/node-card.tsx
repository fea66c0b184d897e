/** A node on the board: its state, title, bot and reason; and an answer to its question if it waits for one. */
import type { Approval } from '../../../contracts/approvals/approval.ts';
import type { NodeCard as Card } from '../../../contracts/factory/node.ts';
import { nodeStatus, Status } from '../../ui/status.tsx';
import { cardSentence } from './board-groups.ts';

export interface NodeCardProps {
  readonly node: Card;
  readonly selected: boolean;
  readonly titleOf: (nodeId: string) => string | undefined;
  /** The question that the node waits with. */
  readonly approval: Approval | undefined;
  readonly onOpen: (node: Card) => void;
}

export function assigneeWords(assignee: string | null): string {
  if (assignee === null) return 'nobody yet';
  if (assignee === 'owner') return 'you';
  return assignee === 'shell' ? 'a command' : assignee;
}

export function NodeCard({ node, selected, titleOf, approval, onOpen }: NodeCardProps) {
  const sentence = approval?.title ?? cardSentence(node, titleOf);
  return (
    <button
      type="button"
      data-row="true"
      data-id={node.nodeId}
      data-node={node.stepId}
      data-status={node.status}
      aria-current={selected ? 'true' : undefined}
      onClick={() => onOpen(node)}
      className="flex w-full min-w-0 flex-col gap-0.5 rounded-control border border-line bg-panel px-2.5 py-2 text-left hover:border-line-strong aria-[current]:border-accent aria-[current]:bg-selected"
    >
      <span className="flex w-full items-center gap-2 text-meta">
        <Status look={nodeStatus[node.status]} wire={node.status} />
        <span className="ml-auto min-w-0 truncate text-muted">{assigneeWords(node.assignee)}</span>
      </span>
      <span className="w-full truncate font-medium" title={node.title}>
        {node.title}
      </span>
      {sentence !== null && (
        <span className="line-clamp-2 w-full text-meta break-words text-muted" title={sentence}>
          {sentence}
        </span>
      )}
      {(node.proof.total > 0 || node.attempt > 1) && (
        <span className="flex w-full gap-2 text-meta text-faint tabular-nums">
          {node.proof.total > 0 && (
            <span>
              proof {node.proof.proven} of {node.proof.total}
            </span>
          )}
          {node.attempt > 1 && <span>attempt {node.attempt}</span>}
        </span>
      )}
    </button>
  );
}
