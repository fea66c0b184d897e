/** Arrow keys between the rows of a list: everything inside that carries `data-row`. Home and End go to its ends. */
import type { KeyboardEvent } from 'react';

export function moveByArrows(event: KeyboardEvent<HTMLElement>): void {
  const { key } = event;
  if (!['ArrowDown', 'ArrowUp', 'Home', 'End'].includes(key)) return;
  const { target } = event;
  // What is pressed in a dialog that a row opened comes here too, and belongs to the dialog.
  if (!(target instanceof Element) || !event.currentTarget.contains(target)) return;
  if (target.matches('textarea, input, select')) return;
  const all = [...event.currentTarget.querySelectorAll<HTMLElement>('[data-row]')];
  const at = all.indexOf(document.activeElement as HTMLElement);
  const next =
    key === 'Home'
      ? all[0]
      : key === 'End'
        ? all.at(-1)
        : at === -1
          ? all[0]
          : all[at + (key === 'ArrowDown' ? 1 : -1)];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}

/** From a filter field, the arrow down goes to the first row below it: of the nearest box around both that has one. */
export function goToRows(event: KeyboardEvent<HTMLInputElement>, rows = '[data-row]'): void {
  if (event.key !== 'ArrowDown') return;
  for (let box = event.currentTarget.parentElement; box !== null; box = box.parentElement) {
    const row = box.querySelector<HTMLElement>(rows);
    if (row === null) continue;
    event.preventDefault();
    row.focus();
    return;
  }
}
