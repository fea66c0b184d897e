/** A row of a list of runs: its title and subject, its state; if there is room, its cost and time. */
import type { ReactNode } from 'react';

/** px. */
export const runRowHeight = 48;

export function RunRow({
  id,
  name,
  about,
  status,
  count,
  when,
  onOpen,
}: {
  id: string;
  name: string;
  about: ReactNode;
  status: ReactNode;
  count: string;
  when: ReactNode;
  onOpen: (id: string) => void;
}) {
  return (
    <li className="border-b border-line">
      <button
        type="button"
        data-row="true"
        data-run={id}
        onClick={() => onOpen(id)}
        className="grid w-full grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 px-3 py-1 text-left hover:bg-raised sm:grid-cols-[minmax(0,1fr)_120px_96px_96px]"
        style={{ minHeight: runRowHeight }}
      >
        <span className="min-w-0">
          <span className="block truncate font-medium" title={name}>
            {name}
          </span>
          <span className="block truncate text-meta text-muted">{about}</span>
        </span>
        {status}
        <span className="text-meta text-muted tabular-nums max-sm:hidden">{count}</span>
        <span className="text-right text-meta text-muted max-sm:hidden">{when}</span>
      </button>
    </li>
  );
}
