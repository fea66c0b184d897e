/** The first rows of a list that may be long, and a button for some more: what nobody looks at is not drawn. */
import { type ReactNode, useState } from 'react';
import { Button } from './button.tsx';

export function FirstRows<T>({
  rows,
  first,
  what,
  children,
}: {
  rows: readonly T[];
  /** So many at first, and so many more at a press. */
  first: number;
  /** What they are, for a screen reader: "bots at work". */
  what: string;
  children: (shown: readonly T[]) => ReactNode;
}) {
  const [count, setCount] = useState(first);
  const left = rows.length - count;
  const next = `Show ${Math.min(left, first)} more`;
  return (
    <>
      {children(rows.slice(0, count))}
      {left > 0 && (
        <div className="flex items-center gap-2 border-t border-line p-2 text-meta text-muted">
          <Button kind="quiet" aria-label={`${next} ${what}`} onClick={() => setCount(count + first)}>
            {next}
          </Button>
          {left > first && <span className="tabular-nums">{left} left</span>}
        </div>
      )}
    </>
  );
}
