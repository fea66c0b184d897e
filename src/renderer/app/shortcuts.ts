/** The keyboard → the action with that shortcut. Keys typed into a field or a terminal belong to it, save those with Ctrl. */
import { useEffect } from 'react';
import type { Action } from './actions.ts';

/** How long a first letter (`g`) waits for its second, in ms. */
const sequenceWait = 1200;

export interface Press {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

/** `Ctrl Shift L`, `?`, `g`: how a press is written. Cmd counts as Ctrl. */
export function writePress(press: Press): string {
  const parts: string[] = [];
  if (press.ctrlKey || press.metaKey) parts.push('Ctrl');
  if (press.altKey) parts.push('Alt');
  const single = press.key.length === 1;
  // A printable key already shows its shift (`?`); with Ctrl it does not.
  if (press.shiftKey && (!single || parts.length > 0)) parts.push('Shift');
  const name = press.key === 'Escape' ? 'Esc' : press.key;
  parts.push(single && parts.length > 0 ? name.toUpperCase() : name);
  return parts.join(' ');
}

export type Field = 'none' | 'text' | 'terminal';

/** Whether a shortcut may be taken from where the focus is. */
export function mayTake(keys: string, field: Field): boolean {
  if (field === 'none') return true;
  if (field === 'text') return keys.startsWith('Ctrl ') || keys === 'Esc';
  return keys.startsWith('Ctrl Shift ');
}

export function fieldOf(target: EventTarget | null): Field {
  if (!(target instanceof HTMLElement)) return 'none';
  if (target.closest('.xterm') !== null) return target.closest('[data-readonly]') === null ? 'terminal' : 'text';
  if (target.isContentEditable) return 'text';
  return target instanceof HTMLInputElement ||
    target instanceof HTMLTextAreaElement ||
    target instanceof HTMLSelectElement
    ? 'text'
    : 'none';
}

export function useShortcuts(actions: readonly Action[]): void {
  useEffect(() => {
    let first: { key: string; at: number } | null = null;
    function onKeyDown(event: KeyboardEvent): void {
      // A key held down is one press: it must not answer two questions.
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      const field = fieldOf(event.target);
      const written = writePress(event);
      const pair = first !== null && event.timeStamp - first.at < sequenceWait ? `${first.key} ${written}` : null;
      first = null;
      // A dialog has the keyboard to itself, except for closing it.
      const inDialog = event.target instanceof Element && event.target.closest('[role="dialog"]') !== null;
      if (inDialog && !written.startsWith('Ctrl ')) return;
      // The view that came last stands nearest: its action wins.
      const action = actions.findLast(
        (one) => one.keys !== undefined && (one.keys === pair || one.keys === written) && mayTake(one.keys, field),
      );
      if (action !== undefined) {
        event.preventDefault();
        action.run();
      } else if (field === 'none' && written === 'g') {
        first = { key: 'g', at: event.timeStamp };
      }
    }
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [actions]);
}
