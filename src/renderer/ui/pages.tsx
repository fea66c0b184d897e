/** The way to older pages of a list, and back to the newest. A page that was asked for here is shown from its top. */
import { type ReactNode, useRef } from 'react';
import { Button } from './button.tsx';
import { type ListSource, ListStates } from './list-states.tsx';

function Pages({
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
        <span>{cursor === undefined ? `${count} in total.` : 'End of the list.'}</span>
      ) : (
        <Button onClick={() => turn(next)}>Older</Button>
      )}
    </nav>
  );
}

/** A list that is read a page at a time. An older page with nothing on it keeps the way back. */
export function PagedList<P extends { readonly nextCursor: string | null }, T>({
  source,
  noun,
  rowsOf,
  cursor,
  onCursor,
  skeleton,
  empty,
  children,
}: {
  source: ListSource<P> & { readonly isPlaceholderData: boolean };
  /** What is on the pages: "runs". */
  noun: string;
  rowsOf: (page: P) => readonly T[];
  cursor: string | undefined;
  onCursor: (cursor: string | undefined) => void;
  skeleton: ReactNode;
  /** Where there is nothing at all. */
  empty: ReactNode;
  children: (rows: readonly T[]) => ReactNode;
}) {
  const pages = { noun, cursor, onCursor };
  return (
    <ListStates
      source={source}
      skeleton={skeleton}
      isEmpty={(page) => rowsOf(page).length === 0}
      empty={cursor === undefined ? empty : <Pages {...pages} next={null} count={0} />}
    >
      {(page) => (
        <div className={source.isPlaceholderData ? 'opacity-60' : ''}>
          {children(rowsOf(page))}
          <Pages {...pages} next={page.nextCursor} count={rowsOf(page).length} />
        </div>
      )}
    </ListStates>
  );
}
