/** The way to older pages of a list, and back to the newest. */
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
  return (
    <nav aria-label={`Pages of ${noun}`} className="flex items-center gap-2 p-3 text-meta text-muted">
      {cursor !== undefined && <Button onClick={() => onCursor(undefined)}>Newest</Button>}
      {next === null ? (
        <span>{cursor === undefined ? `${count} in all.` : 'These are the oldest.'}</span>
      ) : (
        <Button onClick={() => onCursor(next)}>Older</Button>
      )}
    </nav>
  );
}
