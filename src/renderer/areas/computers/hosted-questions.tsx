/** Questions of a hosted computer's calls, answered by the owner of its project. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { Hand } from 'lucide-react';
import { Button } from '../../ui/button.tsx';
import { Ago } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { TextView } from '../../ui/text-view.tsx';
import { useAct } from '../../ui/use-act.ts';
import { useHandsServices } from './use-hands-services.ts';

export function HostedQuestions({ id }: { id: string }) {
  const { api, keys, queries } = useHandsServices();
  const client = useQueryClient();
  const waiting = useQuery(queries.hostedApprovals(id)).data ?? [];
  const answer = useAct(async (approvalId: string, decision: 'approve' | 'deny') => {
    await api.hosted.approveHosted({ params: { id, approvalId }, body: { decision } });
    await client.invalidateQueries({ queryKey: keys.hosted(id, 'approvals') });
  });
  if (waiting.length === 0) return null;
  return (
    <section aria-label="Waiting for you" className="flex flex-col gap-2">
      {waiting.map((one) => (
        <article key={one.id} className="flex min-w-0 flex-col gap-2 rounded-panel border border-line bg-panel p-3">
          <p className="flex items-center gap-1.5 text-meta">
            <Hand className="size-3.5 text-need" aria-hidden="true" />
            <span className="text-need">Waiting for you</span>
            <span className="text-muted">· {one.risk} risk ·</span>
            <span className="text-muted">
              <Ago at={one.requested_at} />
            </span>
          </p>
          <TextView text={one.words} label="What the call would do" diff={false} wrap maxLines={14} />
          <div className="flex gap-2 self-end">
            <Button disabled={answer.busy} onClick={() => answer.run(one.id, 'deny')}>
              Reject
            </Button>
            <Button kind="primary" disabled={answer.busy} onClick={() => answer.run(one.id, 'approve')}>
              Approve
            </Button>
          </div>
        </article>
      ))}
      {answer.failure !== null && <Problem error={answer.failure} />}
    </section>
  );
}
