/** What is wrong with what is open, where its status says so: a hand where a person is needed, else that it failed; what helps stands beside it. */
import { CircleX, Hand } from 'lucide-react';
import type { ReactNode } from 'react';

export function Trouble({
  of,
  needsPerson,
  children,
  remedy,
}: {
  /** What it is the trouble of. */
  of: 'server' | 'connector' | 'subscription' | 'port' | 'registration' | 'call' | 'number' | 'pool';
  needsPerson: boolean;
  children: ReactNode;
  remedy?: ReactNode;
}) {
  return (
    <div
      data-trouble={of}
      className="flex flex-wrap items-center gap-2 rounded-control border border-line bg-panel p-2"
    >
      <p className="flex min-w-0 flex-1 basis-52 gap-2">
        {needsPerson ? (
          <Hand className="mt-0.5 size-4 shrink-0 text-need" aria-hidden="true" />
        ) : (
          <CircleX className="mt-0.5 size-4 shrink-0 text-fail" aria-hidden="true" />
        )}
        <span className="min-w-0 break-words whitespace-pre-line">{children}</span>
      </p>
      {remedy}
    </div>
  );
}
