/**
 * Where the focus goes when a dialog opens and closes: to what is marked as first, else to its first field, and back to where it
 * was before; a dialog opened by a key has no trigger that would take it.
 */
import { useRef } from 'react';

interface ReturnFocus {
  onOpenAutoFocus(event: Event): void;
  onCloseAutoFocus(event: Event): void;
}

export function useReturnFocus(): ReturnFocus {
  const before = useRef<Element | null>(null);
  return {
    onOpenAutoFocus(event) {
      before.current = document.activeElement;
      // Where there is no keyboard, a field in focus would open the one on the screen over half of the dialog.
      if (matchMedia('(pointer: coarse)').matches || !(event.target instanceof HTMLElement)) return;
      const { target } = event;
      const first =
        target.querySelector<HTMLElement>('[data-first]') ??
        target.querySelector<HTMLElement>('input:enabled, select:enabled, textarea:enabled');
      if (first === null) return;
      event.preventDefault();
      first.focus();
    },
    onCloseAutoFocus(event) {
      event.preventDefault();
      const back = before.current;
      if (back instanceof HTMLElement && back.isConnected && back !== document.body) back.focus();
      else focusPage();
    },
  };
}

/** Nothing had the focus, or what had it is gone, as after a command that led to another page: the next key goes to the page's main part. */
function focusPage(): void {
  const main = document.querySelector<HTMLElement>('main');
  if (main === null) return;
  if (!main.hasAttribute('tabindex')) main.tabIndex = -1;
  main.focus({ preventScroll: true });
}
