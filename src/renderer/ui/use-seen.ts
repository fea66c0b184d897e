/** Whether the end of something that must be read was on screen: once it was, it stays so. Must not know what is read. */
import { useCallback, useState } from 'react';

interface Seen {
  readonly seen: boolean;
  /** Goes to an element of some height right below what must be read. */
  readonly end: (element: HTMLElement | null) => (() => void) | undefined;
}

export function useSeen(): Seen {
  const [seen, setSeen] = useState(false);
  const end = useCallback((element: HTMLElement | null) => {
    if (element === null) return undefined;
    // Against the window: what a box around it scrolls out of sight does not count as in view.
    const observer = new IntersectionObserver((entries) => {
      if (entries.some((entry) => entry.isIntersecting)) setSeen(true);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { seen, end };
}
