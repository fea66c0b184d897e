/** Several questions with their exact commands, answered together after their end was in view; then what became of each. */
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { visible, visibleLine } from '../../../contracts/approvals/visible.ts';
import { Asker } from '../../base/asker.tsx';
import { useServices } from '../../base/services.tsx';
import { useAddRule } from '../../base/use-add-rule.ts';
import { useAnswerApproval } from '../../base/use-answer-approval.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { answeredWords, showsDiff } from '../../ui/approval-words.ts';
import { Button } from '../../ui/button.tsx';
import { Check } from '../../ui/choice.tsx';
import { countWords } from '../../ui/count-words.ts';
import { Dialog } from '../../ui/dialog.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useSeen } from '../../ui/use-seen.ts';
import { answerMany, type Decision, type Outcome } from './answer-many.ts';
import type { OfferedRule } from './rule-offers.tsx';

export function AnswerManyDialog({
  approvals,
  decision,
  rule,
  onAnswering,
  onClose,
}: {
  /** Those that waited when it was opened: what comes later is not answered with them. */
  approvals: readonly Approval[];
  decision: Decision;
  /** The rule that would allow all of them: it can be added as they are approved. */
  rule?: OfferedRule | undefined;
  /** Called before the answers leave. */
  onAnswering: () => void;
  onClose: () => void;
}) {
  const answer = useAnswerApproval();
  const addRule = useAddRule();
  const [adding, setAdding] = useState(false);
  const { seen, end } = useSeen();
  const [done, setDone] = useState(0);
  const [outcomes, setOutcomes] = useState<readonly Outcome[] | null>(null);
  const verb = decision === 'approve' ? 'Approve' : 'Reject';
  const many = countWords(approvals.length, 'question');
  const act = useAct(async () => {
    if (rule !== undefined && adding) {
      const [approvalId = '', ...also] = rule.approvalIds;
      await addRule(rule.computer, { approvalId, also, sha256: rule.sha256 });
    }
    onAnswering();
    setOutcomes(await answerMany(approvals, (one) => answer(one, decision, ''), setDone));
  });
  if (outcomes !== null) return <Results outcomes={outcomes} verb={verb} onClose={onClose} />;
  return (
    <ActDialog
      title={`${verb} ${many}`}
      description="Each is answered separately. If somebody answers one first, their answer counts."
      label={adding ? `Add the rule and approve ${approvals.length}` : `${verb} ${approvals.length}`}
      busyLabel={`${done} of ${approvals.length} answered`}
      kind={decision === 'approve' ? 'primary' : 'danger'}
      act={act}
      ready={seen}
      wants="Scroll to the end to answer."
      onClose={onClose}
    >
      {rule !== undefined && (
        <section aria-label="The rule that would cover them" className="flex min-w-0 flex-col gap-1.5">
          <TextView text={visible(rule.rule)} label="The rule" wrap />
          <Check on={adding} onChange={setAdding}>
            <span>
              Also add this rule to <code className="font-mono text-code">{rule.path}</code>, so that nobody is asked
              again
            </span>
          </Check>
        </section>
      )}
      <ul className="flex flex-col gap-3">
        {approvals.map((one) => (
          <li key={one.id} data-answers={one.id} className="flex min-w-0 flex-col gap-1">
            <p className="font-medium break-words">{visibleLine(one.title)}</p>
            <p className="text-meta break-words text-muted">
              <Asker approval={one} />
            </p>
            <TextView
              text={visible(one.summary)}
              label={`What ${one.title} would do`}
              diff={showsDiff(one)}
              wrap={!showsDiff(one)}
              maxLines={14}
            />
            {one.details?.map(({ name, text }) => (
              <div key={name}>
                <p className="text-faint">{name}</p>
                <TextView text={visible(text)} label={`${name} of ${one.title}`} wrap maxLines={6} />
              </div>
            ))}
          </li>
        ))}
      </ul>
      <div ref={end} className="h-px" />
    </ActDialog>
  );
}

function Results({
  outcomes,
  verb,
  onClose,
}: {
  outcomes: readonly Outcome[];
  verb: 'Approve' | 'Reject';
  onClose: () => void;
}) {
  const { queries } = useServices();
  const me = useQuery(queries.session).data?.user;
  const won = outcomes.filter(({ was }) => was === 'won').length;
  const rest = outcomes.filter((one) => one.was !== 'won');
  const past = verb === 'Approve' ? 'Approved' : 'Rejected';
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={`${past} ${won} of ${outcomes.length}`}
      description={rest.length === 0 ? 'All of your answers count.' : 'Your answer does not count for these:'}
      footer={
        <Button kind="primary" autoFocus onClick={onClose}>
          Close
        </Button>
      }
    >
      <ul role="status" className="flex flex-col gap-2">
        {rest.map((one) => (
          <li key={one.approval.id} className="break-words">
            <span className="font-medium">{visibleLine(one.approval.title)}</span>{' '}
            <span className="text-muted">
              {one.was === 'other' ? (answeredWords(one.now, me, Date.now()) ?? 'It still waits.') : one.why}
            </span>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
