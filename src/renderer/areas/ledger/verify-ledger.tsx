/** The verdict on the whole ledger: it is intact, or which row is in question and what to do. */
import { useQuery } from '@tanstack/react-query';
import { BadgeCheck, CircleX, X } from 'lucide-react';
import { useServices } from '../../base/services.tsx';
import { Button, IconButton } from '../../ui/button.tsx';
import { ShortId } from '../../ui/copy.tsx';
import { Problem } from '../../ui/problem.tsx';

export function VerifyLedger({ onRow, onClose }: { onRow: (id: string) => void; onClose: () => void }) {
  const { api, computer } = useServices();
  const verdict = useQuery({
    queryKey: ['verify', computer],
    queryFn: ({ signal }) => api.factory.verifyLedger({}, { signal }),
    gcTime: 0,
    staleTime: 0,
  });
  const { data, error } = verdict;
  if (error !== null) return <Problem error={error} />;
  return (
    <section
      aria-label="Verdict"
      aria-live="polite"
      data-verdict={data === undefined ? 'reading' : data.ok ? 'sound' : data.problem}
      className="flex shrink-0 items-start gap-2 border-b border-line bg-panel px-3 py-2"
    >
      {data === undefined ? (
        <p className="text-muted">Checking every row against the one before …</p>
      ) : data.ok ? (
        <p className="flex flex-wrap items-center gap-x-2">
          <BadgeCheck className="size-4 text-proven" aria-hidden="true" />
          <span className="text-proven">The ledger is intact</span>
          <span className="text-muted tabular-nums">
            {data.rows.toLocaleString()} rows, head {data.head.id} <ShortId id={data.head.hash} />
            {data.heads > 0 && `, compared with ${data.heads} exported heads`}
          </span>
        </p>
      ) : (
        <div className="flex min-w-0 flex-col items-start gap-1">
          <p className="flex gap-2 text-fail">
            <CircleX className="mt-0.5 size-4 shrink-0" aria-hidden="true" />
            <span className="min-w-0 break-words">{data.fact}</span>
          </p>
          <p className="pl-6 break-words text-muted">{data.action}</p>
          <span className="pl-6">
            <Button onClick={() => onRow(data.id)}>Show row {data.id}</Button>
          </span>
        </div>
      )}
      <span className="ml-auto">
        <IconButton label="Close the verdict" onClick={onClose}>
          <X aria-hidden="true" />
        </IconButton>
      </span>
    </section>
  );
}
