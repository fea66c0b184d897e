/** Keyboard navigation on a page: to its filter, into its list, and one step out of what is open, restoring the focus. */
import type { RefObject } from 'react';
import type { Action } from './actions.ts';

type Page = RefObject<HTMLElement | null>;

/** Gives the focus to the first of them that is there. */
export function focusIn(page: Page, ...selectors: readonly string[]): void {
  const found = selectors.map((one) => page.current?.querySelector<HTMLElement>(one)).find((one) => one != null);
  found?.focus();
}

/** Closes what is open by going `to`; the row that opened it, marked with `data-name`, has the focus back where it is still there. */
export const stepOut =
  <T>(page: Page, go: (to: T) => void) =>
  (to: T, name: string, value = ''): void => {
    go(to);
    requestAnimationFrame(() => focusIn(page, `[data-${name}="${CSS.escape(value)}"]`));
  };

/** `back`: null while nothing is open. */
export const backAction = (page: Page, back: (() => void) | null, title = 'Back to the list'): Action => ({
  id: 'back',
  title,
  group: 'View',
  keys: 'Esc',
  hidden: true,
  run: () => (back === null ? focusIn(page, '[data-row]') : back()),
});

export const filterAction = (page: Page, title: string): Action => ({
  id: 'filter',
  title,
  group: 'View',
  keys: '/',
  run: () => focusIn(page, '[data-filter]'),
});
