/** How an error is shown: the fact, then what to do, then details. Must not know where the error came from. */
import { CircleX } from 'lucide-react';
import { type ReactNode, useEffect, useState } from 'react';
import { Button } from './button.tsx';
import { describeProblem } from './describe-problem.ts';

const firstRetrySeconds = 4;

/** Counts down and retries automatically; each failure doubles the wait, up to a minute. */
function RetryCountdown({ failures, onRetry }: { failures: number; onRetry: () => void }) {
  const wait = Math.min(60, firstRetrySeconds * 2 ** Math.min(failures, 4));
  const [left, setLeft] = useState(wait);
  useEffect(() => {
    setLeft(wait);
    const timer = setInterval(() => setLeft((seconds) => seconds - 1), 1000);
    return () => clearInterval(timer);
  }, [wait]);
  useEffect(() => {
    if (left <= 0) onRetry();
  }, [left, onRetry]);
  return (
    <Button onClick={onRetry}>
      Try again
      <span className="text-muted tabular-nums">in {Math.max(0, left)} s</span>
    </Button>
  );
}

export function Problem({
  error,
  failures = 0,
  onRetry,
  children,
}: {
  error: unknown;
  failures?: number;
  onRetry?: () => void;
  children?: ReactNode;
}) {
  const problem = describeProblem(error);
  return (
    <div role="alert" className="m-2 rounded-control border border-line bg-panel p-3">
      <p className="flex gap-2">
        <CircleX className="mt-0.5 size-4 shrink-0 text-fail" aria-hidden="true" />
        <span className="min-w-0 break-words">{problem.fact}</span>
      </p>
      {problem.action !== '' && <p className="mt-1 pl-6 break-words text-muted">{problem.action}</p>}
      <div className="mt-2 flex flex-wrap items-center gap-2 pl-6">
        {onRetry !== undefined && <RetryCountdown key={failures} failures={failures} onRetry={onRetry} />}
        {children}
        <details className="text-meta text-faint">
          <summary className="rounded-control px-1">Details</summary>
          <p className="font-mono">
            {problem.code}
            {problem.requestId !== null && <> · request {problem.requestId}</>}
          </p>
        </details>
      </div>
    </div>
  );
}
