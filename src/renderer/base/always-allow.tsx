/** "Always allow this": shows the rule as it will be written, writes it, and approves the question. Must not know how a card looks. */
import { useState } from 'react';
import type { Approval } from '../../contracts/approvals/approval.ts';
import { PlanDialog } from '../ui/plan-dialog.tsx';
import { TextView } from '../ui/text-view.tsx';
import { useServices } from './services.tsx';

export function AlwaysAllowDialog({
  approval,
  onApprove,
  onClose,
}: {
  approval: Approval;
  onApprove: () => Promise<void>;
  onClose: () => void;
}) {
  const { api } = useServices();
  const [shown, setShown] = useState<string | undefined>(undefined);
  const approvalId = approval.id;
  return (
    <PlanDialog
      title="Always allow this"
      description="Gantry adds this rule to the policy of the workspace and approves the question. What the rule describes is then allowed without asking."
      planKey={['policy-rule', approvalId]}
      readPlan={async (signal) => {
        const answer = await api.factory.addPolicyRule({ body: { approvalId, dryRun: true } }, { signal });
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
        await api.factory.addPolicyRule({ body: { approvalId, sha256: shown } });
        await onApprove();
      }}
      onClose={onClose}
      focusAct={false}
    />
  );
}
