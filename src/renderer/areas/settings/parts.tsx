/** Shared components of the settings' pages. */
import type { ReactNode } from 'react';

export const control = 'h-7 rounded-control border border-line bg-raised px-1.5 pointer-coarse:h-10';

/** One setting: its name and what it changes at the left, its control at the right. */
export function Setting({
  name,
  effect,
  source,
  children,
}: {
  name: string;
  effect: ReactNode;
  /** Where its value is from. */
  source?: string;
  children?: ReactNode;
}) {
  return (
    <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-3 py-2.5 last:border-b-0">
      <div className="min-w-52 flex-1">
        <p className="font-medium">
          {name} {source !== undefined && <span className="pl-1 font-normal text-meta text-faint">{source}</span>}
        </p>
        <p className="break-words text-muted">{effect}</p>
      </div>
      {children}
    </div>
  );
}

/** A sentence about the whole card, below its title. */
export function About({ children }: { children: ReactNode }) {
  return <p className="border-b border-line px-3 py-2.5 text-muted">{children}</p>;
}

/** Small, quiet facts of a row, set apart by dots. */
export function Facts({ children }: { children: ReactNode }) {
  return (
    <p className="flex flex-wrap gap-x-1.5 text-meta text-muted [&>*:not(:last-child)]:after:pl-1.5 [&>*:not(:last-child)]:after:content-['·']">
      {children}
    </p>
  );
}

export function Chip({ children }: { children: ReactNode }) {
  return (
    <span className="inline-flex h-[18px] items-center rounded-full border border-line-strong px-1.5 text-meta whitespace-nowrap text-muted">
      {children}
    </span>
  );
}
