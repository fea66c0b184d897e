/** Gives the focus back to where it was before a dialog opened; a dialog opened by a key has no trigger that would take it. */
import { useRef } from 'react';

export interface ReturnFocus {
  onOpenAutoFocus(): void;
  onCloseAutoFocus(event: Event): void;
}

export function useReturnFocus(): ReturnFocus {
  const before = useRef<Element | null>(null);
  return {
    onOpenAutoFocus() {
      before.current = document.activeElement;
    },
    onCloseAutoFocus(event) {
      event.preventDefault();
      if (before.current instanceof HTMLElement) before.current.focus();
    },
  };
}
