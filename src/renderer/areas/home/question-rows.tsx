/** On Home: the questions of the inbox, each with the way to its card. */
import { useNavigate } from '@tanstack/react-router';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { Button } from '../../ui/button.tsx';
import { Elapsed } from '../../ui/now.tsx';
import { approvalStatus, Status } from '../../ui/status.tsx';

export function QuestionRows({ approvals }: { approvals: readonly Approval[] }) {
  const navigate = useNavigate();
  return approvals.map((approval) => (
    <li key={approval.id} className="flex items-center gap-3 border-b border-line px-3 py-2 last:border-b-0">
      <div className="min-w-0 flex-1">
        <p className="flex items-center gap-2">
          <Status look={approvalStatus(approval, 0)} wire={approval.state} />
          <span className="min-w-0 truncate font-medium">{approval.title}</span>
          <span className="shrink-0 text-meta text-faint">
            <Elapsed since={approval.requestedAt} />
          </span>
        </p>
        <p className="truncate font-mono text-code text-muted">{approval.summary.split('\n', 1)[0]}</p>
      </div>
      <Button onClick={() => void navigate({ to: '/inbox' })} aria-label={`Answer ${approval.title}`}>
        Answer
      </Button>
    </li>
  ));
}
