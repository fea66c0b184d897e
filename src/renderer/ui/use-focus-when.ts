/** Focuses an element once, as soon as it can be used: a button that was disabled while its plan was read. */
import { type RefObject, useEffect, useRef } from 'react';

export function useFocusWhen(ready: boolean): RefObject<HTMLButtonElement | null> {
  const element = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (ready) element.current?.focus();
  }, [ready]);
  return element;
}
