/**
 * The question that a link names, as from a notification: it gets the focus, and the address is then cleaned, so that the same link
 * works again and Back does not repeat it. Must not know how a question is drawn.
 */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { type RefObject, useEffect, useRef } from 'react';
import { toast } from 'sonner';

/** `listed`: ids of the questions that the page has; null while they are read. `show` makes the page draw one of them. */
export function useLinkedQuestion(
  page: RefObject<HTMLElement | null>,
  listed: readonly string[] | null,
  show: (id: string) => void,
): void {
  const { approval: linked } = useSearch({ from: '/inbox' });
  const navigate = useNavigate();
  const toFocus = useRef<string | null>(null);
  const known = linked !== undefined && listed?.includes(linked) === true;
  const missing = linked !== undefined && listed !== null && !known;
  // After each drawing, because the row is drawn some time after it was asked for. Stands first, so as not to find where the row was before.
  useEffect(() => {
    const id = toFocus.current;
    const card = id === null ? null : page.current?.querySelector<HTMLElement>(`[data-approval="${CSS.escape(id)}"]`);
    if (card == null) return;
    toFocus.current = null;
    // One that was answered is a line which says so, and opens.
    const line = card.querySelector('details');
    if (line !== null) line.open = true;
    (line?.querySelector('summary') ?? card).focus();
    card.scrollIntoView({ block: 'nearest' });
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each link, when the list is there
  useEffect(() => {
    if (!known && !missing) return;
    if (known) {
      show(linked);
      toFocus.current = linked;
    } else {
      toast('This question is no longer listed', { description: 'It was answered, or it expired, some time ago.' });
    }
    void navigate({ to: '/inbox', search: {}, replace: true });
  }, [linked, known, missing]);
}
