/** "Always allow this": shows the rule as it will be written, writes it, and approves the question. Must not know how a card looks. */
import { useState } from 'react';
import type { Approval } from '../../contracts/approvals/approval.ts';
import { Choice } from '../ui/choice.tsx';
import { PlanDialog } from '../ui/plan-dialog.tsx';
import { TextView } from '../ui/text-view.tsx';
import { useServices } from './services.tsx';
import { useAddRule } from './use-add-rule.ts';

type Reach = 'bot' | 'team' | 'workspace';

const reaches = [
  { key: 'bot', word: 'This bot', says: 'only the one that asks' },
  { key: 'team', word: 'Its team', says: 'every bot of the team' },
  { key: 'workspace', word: 'The workspace', says: 'every bot of every team here' },
] as const;

export function AlwaysAllowDialog({
  approval,
  onApprove,
  onClose,
}: {
  approval: Approval;
  onApprove: () => Promise<void>;
  onClose: () => void;
}) {
  const { api, computer } = useServices();
  const addRule = useAddRule();
  const [shown, setShown] = useState<string | undefined>(undefined);
  const [reach, setReach] = useState<Reach>('bot');
  const approvalId = approval.id;
  // An older computer knows only rules of the bot.
  const wider = reach === 'bot' ? {} : { for: reach };
  return (
    <PlanDialog
      title="Always allow this"
      description="Gantry adds this rule to the policy of the workspace and approves the question. What the rule describes is then allowed without asking."
      planKey={['policy-rule', approvalId, reach]}
      fields={
        approval.kind === 'destination' && (
          <Choice legend="Who may connect" name="reach" choices={reaches} value={reach} onChange={setReach} />
        )
      }
      readPlan={async (signal) => {
        const answer = await api.factory.addPolicyRule({ body: { approvalId, ...wider, dryRun: true } }, { signal });
        if (!('dryRun' in answer)) throw new Error('The server acted on a dry run.');
        setShown(answer.plan.sha256);
        return answer.plan;
      }}
      shown={(plan) => (
        <>
          <p className="text-muted">
            To <code className="font-mono text-code">{plan.path}</code>, line {plan.line}:
          </p>
          <TextView text={plan.rule} label="The rule" wrap />
        </>
      )}
      label={() => 'Add the rule and approve'}
      idle="Add the rule and approve"
      busyLabel="Adding"
      act={async () => {
        await addRule(computer, { approvalId, ...wider, sha256: shown });
        await onApprove();
      }}
      onClose={onClose}
      focusAct={false}
    />
  );
}
