/** A node on the board: its state, title, bot and reason; and the question that it waits with, answered on its card. */
import type { Approval } from '../../../contracts/approvals/approval.ts';
import type { NodeCard as Card } from '../../../contracts/factory/node.ts';
import { Asker } from '../../base/asker.tsx';
import { MoreQuestions, QuestionCard } from '../../base/question-card.tsx';
import { nodeLook, nodeStatus, Status } from '../../ui/status.tsx';
import { cardSentence } from './board-groups.ts';

export interface NodeCardProps {
  readonly node: Card;
  readonly selected: boolean;
  readonly titleOf: (nodeId: string) => string | undefined;
  /** The question that the node waits with, or that was answered here. */
  readonly question: Approval | undefined;
  /** How many more it waits with. */
  readonly more: number;
  /** Whether keys answer it. */
  readonly asked: boolean;
  readonly onOpen: (node: Card) => void;
  /** Keys answer its question from now on. */
  readonly onAsked: (question: Approval) => void;
  /** Called before an answer leaves. */
  readonly onAnswering: (question: Approval) => void;
}

export function assigneeWords(assignee: string | null): string {
  if (assignee === null) return 'nobody yet';
  if (assignee === 'owner') return 'you';
  return assignee === 'shell' ? 'a command' : assignee === 'queue' ? 'a worker' : assignee;
}

export function NodeCard(props: NodeCardProps) {
  const { question, more, selected, asked, onAsked, onAnswering } = props;
  // An open step shows its question beside the board.
  if (question === undefined || selected) return <NodeButton {...props} />;
  return (
    <div className="flex min-w-0 flex-col gap-1">
      <NodeButton {...props} />
      <QuestionCard
        key={question.id}
        approval={question}
        who={<Asker approval={question} showNode={false} />}
        selected={asked}
        keys={asked ? { what: 'the step', group: 'Work' } : undefined}
        onFocus={() => onAsked(question)}
        onAnswering={() => onAnswering(question)}
      />
      <MoreQuestions count={more} />
    </div>
  );
}

function NodeButton({ node, selected, titleOf, question, onOpen, onAsked }: NodeCardProps) {
  const waits = question?.state === 'pending';
  const sentence = !waits ? cardSentence(node, titleOf) : selected ? question.title : null;
  return (
    <button
      type="button"
      data-row="true"
      data-id={node.nodeId}
      data-node={node.stepId}
      data-status={node.status}
      data-asks={question?.id}
      aria-current={selected ? 'true' : undefined}
      onClick={() => onOpen(node)}
      onFocus={question === undefined ? undefined : () => onAsked(question)}
      className="flex w-full min-w-0 flex-col gap-0.5 rounded-control border border-line bg-panel px-2.5 py-2 text-left hover:border-line-strong aria-[current]:border-accent aria-[current]:bg-selected"
    >
      <span className="flex w-full items-center gap-2 text-meta">
        {/* Its bot works on, and nothing moves before the answer. */}
        <Status look={waits ? nodeStatus.needs_you : nodeLook(node)} wire={waits ? 'needs_you' : node.status} />
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
