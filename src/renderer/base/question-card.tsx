/**
 * A question to a person, with its answers, wherever it is shown: in the inbox, in the pane of the bot that asks, on a step, beside a call or a run.
 * Must not know the page around it.
 */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { toast } from 'sonner';
import type { Approval } from '../../contracts/approvals/approval.ts';
import { ApprovalCard } from '../ui/approval-card.tsx';
import { asksForTrust, wholeWords } from '../ui/approval-words.ts';
import type { Action } from './actions.ts';
import { AlwaysAllowDialog } from './always-allow.tsx';
import { Asker } from './asker.tsx';
import { useBots } from './floors.tsx';
import { OnComputer, useAddActions, useServices } from './services.tsx';
import { useAnswerApproval } from './use-answer-approval.ts';

interface QuestionCardProps {
  readonly approval: Approval;
  /** Who asks; else the bot and its step, as links. */
  readonly who?: ReactNode;
  /** The card that `a` and `r` answer. */
  readonly selected?: boolean;
  /** Set where the page has no keys of its own for it: what is answered, as the commands name it ("the call"), and their group. */
  readonly keys?: { readonly what: string; readonly group: Action['group'] } | undefined;
  /** Of its title: one below that of what it stands in. */
  readonly heading?: 'h2' | 'h3';
  readonly onFocus?: () => void;
  /** Called before an answer leaves. */
  readonly onAnswering?: () => void;
}

/** That there are others behind a question that stands alone. */
export function MoreQuestions({ count }: { count: number }) {
  if (count < 1) return null;
  return (
    <span className="text-meta text-muted tabular-nums">
      {count} more {count === 1 ? 'question' : 'questions'} after this one
    </span>
  );
}

/** Questions that the policy left to a person. Whether a rule can say exactly this, the server knows. */
const mayBeRule = ({ source, kind }: Approval): boolean =>
  source === 'gate' ||
  (source === 'harness' && !asksForTrust({ kind })) ||
  (source === 'executor' && (kind === 'tool_call' || kind === 'file_change'));

const noActions: readonly Action[] = [];

export function QuestionCard(props: QuestionCardProps) {
  const { approval, who, selected = true, keys, heading, onFocus, onAnswering } = props;
  const { queries } = useServices();
  const me = useQuery(queries.session).data?.user;
  const answer = useAnswerApproval();
  const card = useRef<HTMLElement>(null);
  const { id } = approval;
  // Who sees the question need not be told of it; one that is scrolled away nobody sees.
  useEffect(() => {
    const seen = new IntersectionObserver((entries) => {
      if (entries.some(({ isIntersecting }) => isIntersecting)) toast.dismiss(`approval ${id}`);
    });
    if (card.current !== null) seen.observe(card.current);
    return () => seen.disconnect();
  }, [id]);
  const detail = useMemo(() => wholeWords(approval), [approval]);
  const what = selected ? keys?.what : undefined;
  const group = keys?.group;
  const actions = useMemo<readonly Action[]>(() => {
    if (what === undefined || group === undefined) return noActions;
    const press = (decision: string) => (): void => {
      // With the focus on another row, what would be answered is not what the person looks at.
      const row = document.activeElement?.closest<HTMLElement>('[data-approval], [data-row]:not([aria-current])');
      if (row != null && row !== card.current && row.dataset.asks !== id) return;
      card.current?.querySelector<HTMLButtonElement>(`[data-decide="${decision}"]`)?.click();
    };
    const common = { group, detail, changes: 'at once' } as const;
    return [
      { ...common, id: 'approve', title: `Approve ${what}`, keys: 'a', run: press('approve') },
      { ...common, id: 'reject', title: `Reject ${what}`, keys: 'r', run: press('reject') },
    ];
  }, [detail, id, what, group]);
  useAddActions(actions);
  const [always, setAlways] = useState<string | null>(null);
  const bot = useBots().find((one) => one.id === approval.agentId);
  const answering = useRef(onAnswering);
  answering.current = onAnswering;
  const decided = useCallback(
    (decision: 'approve' | 'reject', note: string): Promise<void> => {
      answering.current?.();
      return answer(approval, decision, note);
    },
    [answer, approval],
  );
  const asker = useMemo(() => <Asker approval={approval} />, [approval]);
  const cardOf = (
    <ApprovalCard
      ref={card}
      approval={approval}
      who={who ?? asker}
      me={me}
      selected={selected}
      heading={heading}
      onFocus={onFocus}
      onAnswer={decided}
      onAlways={bot !== undefined && mayBeRule(approval) ? setAlways : undefined}
    />
  );
  return (
    <>
      {cardOf}
      {always !== null && bot !== undefined && (
        <OnComputer computer={bot.place.scope}>
          <AlwaysAllowDialog
            approval={approval}
            onApprove={() => decided('approve', always)}
            onClose={() => setAlways(null)}
          />
        </OnComputer>
      )}
    </>
  );
}
