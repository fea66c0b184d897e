/** The way to older pages of a list, and back to the newest. A page that was asked for here begins at its top, and has the focus there. */
import { useEffect, useRef } from 'react';
import { Button } from '../../ui/button.tsx';

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
  const shown = useRef(cursor);
  const turned = shown.current !== cursor;
  useEffect(() => {
    if (!turned) return;
    shown.current = cursor;
    nav.current?.parentElement?.scrollIntoView({ block: 'start' });
    // The button that was pressed may be gone with the page that it was on.
    if (document.activeElement === document.body) nav.current?.focus();
  }, [turned, cursor]);
  return (
    <nav
      ref={nav}
      tabIndex={-1}
      aria-label={`Pages of ${noun}`}
      className="flex items-center gap-2 p-3 text-meta text-muted"
    >
      {cursor !== undefined && <Button onClick={() => onCursor(undefined)}>Newest</Button>}
      {next === null ? (
        <span>{cursor === undefined ? `${count} in all.` : 'These are the oldest.'}</span>
      ) : (
        <Button onClick={() => onCursor(next)}>Older</Button>
      )}
    </nav>
  );
}
