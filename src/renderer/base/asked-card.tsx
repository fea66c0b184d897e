/** A question that the shown item waits for, answered in place. First user: a tool call; second: a run on a computer. */
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo, useRef } from 'react';
import { toast } from 'sonner';
import type { Approval } from '../../contracts/approvals/approval.ts';
import { ApprovalCard } from '../ui/approval-card.tsx';
import { wholeWords } from '../ui/approval-words.ts';
import type { Action } from './actions.ts';

import { useAddActions, useServices } from './services.tsx';
import { useAnswerApproval } from './use-answer-approval.ts';

export function AskedCard({
  approval,
  who,
  what,
  group,
}: {
  approval: Approval;
  who: ReactNode;
  /** As the commands name it: "the call". */
  what: string;
  group: Action['group'];
}) {
  const { queries } = useServices();
  const me = useQuery(queries.session).data?.user;
  const answer = useAnswerApproval();
  const box = useRef<HTMLDivElement>(null);
  // Who sees the question need not be told of it.
  useEffect(() => void toast.dismiss(`approval ${approval.id}`), [approval.id]);
  const detail = wholeWords(approval);
  const actions = useMemo<readonly Action[]>(() => {
    const press = (decision: string) => (): void => {
      box.current?.querySelector<HTMLButtonElement>(`[data-decide="${decision}"]`)?.click();
    };
    return [
      { id: 'approve', title: `Approve ${what}`, group, keys: 'a', detail, run: press('approve') },
      { id: 'reject', title: `Reject ${what}`, group, keys: 'r', detail, run: press('reject') },
    ];
  }, [detail, what, group]);
  useAddActions(actions);
  return (
    <div ref={box}>
      <ApprovalCard
        approval={approval}
        who={who}
        me={me}
        selected
        onAnswer={(decision, note) => answer(approval, decision, note)}
      />
    </div>
  );
}
