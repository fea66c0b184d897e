/** The result of a tool's last call, or how long it has run; and the question it waits for, answered in place. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Hand } from 'lucide-react';
import { type ReactNode, useEffect, useRef } from 'react';
import type { Approval } from '../../../contracts/approvals/approval.ts';
import { approvalGoodFor, maxApprovalWaitSeconds, type ToolInfo } from '../../../contracts/tool-server/tools.ts';
import { QuestionCard } from '../../base/question-card.tsx';
import { useServices } from '../../base/services.tsx';
import { isPending } from '../../ui/approval-words.ts';
import { Elapsed, useNow } from '../../ui/now.tsx';
import { Problem } from '../../ui/problem.tsx';
import { WorkProgressLine } from '../../ui/work-progress.tsx';
import type { ToolCall } from './tool-calls.ts';
import { ToolResultView } from './tool-result.tsx';
import { tookWords } from './tool-words.ts';

/** A clock of the server's may stand a little behind this one's, ms. */
const clocksDiffer = 5_000;

export function CallEnd({ tool, call }: { tool: ToolInfo; call: ToolCall | null }) {
  const asked = useQuestion(call);
  const box = useRef<HTMLElement>(null);
  const state = call?.state;
  const before = useRef(state);
  useEffect(() => {
    // Below a form it may be out of sight.
    if (state !== undefined && state !== before.current) box.current?.scrollIntoView({ block: 'nearest' });
    before.current = state;
  }, [state]);
  return (
    <section
      aria-labelledby="call-end"
      aria-busy={call?.state === 'running'}
      ref={box}
      className="flex min-w-0 flex-col gap-3 border-line p-3 @max-[859px]:border-t @min-[860px]:sticky @min-[860px]:top-0 @min-[860px]:self-start"
    >
      <div className="flex min-h-6 items-center gap-3">
        <h2 id="call-end" className="font-semibold">
          Result
        </h2>
        <span role="status" className="ml-auto text-meta text-muted tabular-nums">
          <Took call={call} waits={asked !== null && call?.state === 'running'} />
        </span>
      </div>
      {call === null && <p className="text-muted">The result appears here.</p>}
      {call?.state === 'running' && call.progress !== null && <WorkProgressLine progress={call.progress} />}
      {call?.state === 'waits' && <Waits asked={asked} />}
      {asked !== null && (
        <QuestionCard approval={asked} who="Your call from this page" keys={{ what: 'the call', group: 'Tools' }} />
      )}
      {call?.state === 'cancelled' && (
        <p className="text-muted">You cancelled the call. What it had already done is not undone.</p>
      )}
      {call?.state === 'failed' && <Problem error={call.error} />}
      {call?.state === 'done' && <ToolResultView tool={tool} result={call.result} />}
    </section>
  );
}

function Took({ call, waits }: { call: ToolCall | null; waits: boolean }): ReactNode {
  if (call === null || call.state === 'waits') return null;
  if (call.state === 'running') {
    return (
      <>
        {waits ? 'Waiting for you' : 'Running'} · <Elapsed since={call.startedAt} />
      </>
    );
  }
  return <>took {tookWords(call.tookMs)}</>;
}

function Waits({ asked }: { asked: Approval | null }) {
  const now = useNow();
  const inbox = (
    <Link to="/inbox" className="rounded-control text-accent underline">
      inbox
    </Link>
  );
  const approved = asked?.decision === 'approve';
  const open = asked === null || isPending(asked, now);
  return (
    <p data-waits="true" className="flex gap-2 rounded-control border border-line bg-panel p-3">
      <Hand className={`mt-0.5 size-4 shrink-0 ${approved || !open ? 'text-muted' : 'text-need'}`} aria-hidden="true" />
      <span className="min-w-0">
        {approved ? (
          <>Approved. Call it again within {approvalGoodFor} minutes to run it once.</>
        ) : open ? (
          <>
            This call needs your approval, and nobody answered for {maxApprovalWaitSeconds} seconds. Answer{' '}
            {asked === null ? 'in' : 'here or in'} the {inbox}, then call it again to run it once.
          </>
        ) : (
          <>Not approved, so it did not run. Call it again to be asked again.</>
        )}
      </span>
    </p>
  );
}

/** The question that this call asks: by its id, or while it runs the first one without a bot that came after it began. */
function useQuestion(call: ToolCall | null): Approval | null {
  const { queries } = useServices();
  const approvals = useQuery(queries.approvals).data?.approvals;
  const now = useNow();
  if (approvals === undefined || call === null) return null;
  if (call.state === 'waits') return approvals.find((one) => one.id === call.approvalId) ?? null;
  if (call.state !== 'running') return null;
  const since = Date.parse(call.startedAt) - clocksDiffer;
  const asked = approvals.filter(
    (one) =>
      one.agentId === null && one.source === 'executor' && isPending(one, now) && Date.parse(one.requestedAt) >= since,
  );
  return asked.at(-1) ?? null;
}
