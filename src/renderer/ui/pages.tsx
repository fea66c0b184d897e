/** The way to older pages of a list, and back to the newest. A page that was asked for here is shown from its top. */
import { useRef } from 'react';
import { Button } from './button.tsx';

export function Pages({
  noun,
  cursor,
  next,
  count,
  onCursor,
}: {
  noun: string;
  cursor: string | undefined;
  next: string | null;
  count: number;
  onCursor: (cursor: string | undefined) => void;
}) {
  const nav = useRef<HTMLElement>(null);
  function turn(to: string | undefined): void {
    onCursor(to);
    // The button may go with its page: here the next one is a Tab away.
    nav.current?.focus({ preventScroll: true });
    nav.current?.parentElement?.scrollIntoView({ block: 'start' });
  }
  return (
    <nav
      ref={nav}
      tabIndex={-1}
      aria-label={`Pages of ${noun}`}
      className="flex items-center gap-2 p-3 text-meta text-muted"
    >
      {cursor !== undefined && <Button onClick={() => turn(undefined)}>Newest</Button>}
      {next === null ? (
        <span>{cursor === undefined ? `${count} in all.` : 'These are the oldest.'}</span>
      ) : (
        <Button onClick={() => turn(next)}>Older</Button>
      )}
    </nav>
  );
}
