/** Maps a key to the action with that shortcut. Keys typed into a field or a terminal belong to it, except those with Ctrl. */
import { useEffect, useState } from 'react';
import type { Action } from '../base/actions.ts';
import { useServices } from '../base/services.tsx';

/** How long a first letter (`g`) waits for its second, in ms. */
const sequenceWait = 1200;

export interface Press {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

const keycaps: Readonly<Record<string, string>> = { Escape: 'Esc', ArrowUp: '↑', ArrowDown: '↓' };

/** `Ctrl Shift L`, `?`, `g`: how a press is written. Cmd counts as Ctrl. */
export function writePress(press: Press): string {
  const parts: string[] = [];
  if (press.ctrlKey || press.metaKey) parts.push('Ctrl');
  if (press.altKey) parts.push('Alt');
  const single = press.key.length === 1;
  // A printable key already shows its shift (`?`); with Ctrl it does not.
  if (press.shiftKey && (!single || parts.length > 0)) parts.push('Shift');
  const name = keycaps[press.key] ?? press.key;
  parts.push(single && parts.length > 0 ? name.toUpperCase() : name);
  return parts.join(' ');
}

/** `choice`: a box, a button of several, or a list. Letters choose in it, and it has no undo of its own. */
type Field = 'none' | 'text' | 'choice' | 'terminal';

/** Whether a shortcut may be taken from where the focus is. */
export function mayTake(keys: string, field: Field): boolean {
  if (field === 'none') return true;
  if (field === 'terminal') return keys.startsWith('Ctrl Shift ');
  // A field takes back what was typed into it.
  if (field === 'text' && keys === 'Ctrl Z') return false;
  // F1 types nothing anywhere.
  return keys.startsWith('Ctrl ') || keys === 'Esc' || keys === 'F1';
}

const choiceTypes: ReadonlySet<string> = new Set(['checkbox', 'radio', 'range', 'file', 'button', 'submit', 'reset']);

function fieldOf(target: EventTarget | null): Field {
  if (!(target instanceof HTMLElement)) return 'none';
  if (target.closest('.xterm') !== null) return 'terminal';
  if (target.isContentEditable) return 'text';
  if (target instanceof HTMLSelectElement) return 'choice';
  if (target instanceof HTMLInputElement) return choiceTypes.has(target.type) ? 'choice' : 'text';
  return target instanceof HTMLTextAreaElement ? 'text' : 'none';
}

interface Place {
  readonly field: Field;
  readonly inDialog: boolean;
  /** When the key was pressed, in ms of the window's clock. */
  readonly at: number;
}

/**
 * The presses of one window, in order → the action that each means. A first letter waits here and not with the actions: what can be done
 * changes with every bot, also between `g` and `h`.
 */
export function createPressReader(): (press: Press, place: Place, actions: readonly Action[]) => Action | null {
  let first: { key: string; at: number } | null = null;
  return (press, { field, inDialog, at }, actions) => {
    const written = writePress(press);
    const pair = first !== null && at - first.at < sequenceWait ? `${first.key} ${written}` : null;
    first = null;
    // A dialog has the keyboard to itself, except for closing it. What was done before it stays done.
    if (inDialog && (!written.startsWith('Ctrl ') || written === 'Ctrl Z')) return null;
    // The view that came last stands nearest: its action wins.
    const action = actions.findLast(
      (one) => one.keys !== undefined && (one.keys === pair || one.keys === written) && mayTake(one.keys, field),
    );
    if (action === undefined && field === 'none' && written === 'g') first = { key: 'g', at };
    return action ?? null;
  };
}

/** What is pressed while a dialog is open and its button that had the focus is busy is still pressed in the dialog. */
function dialogOf(target: Element): Element | null {
  if (target === document.body) return document.querySelector('[role="dialog"][data-state="open"]');
  return target.closest('[role="dialog"]');
}

export function useShortcuts(): void {
  const { actions } = useServices();
  const [read] = useState(createPressReader);
  useEffect(() => {
    function onKeyDown(event: KeyboardEvent): void {
      // A key held down is one press: it must not answer two questions.
      if (event.defaultPrevented || event.isComposing || event.repeat) return;
      const inDialog = event.target instanceof Element && dialogOf(event.target) !== null;
      const action = read(event, { field: fieldOf(event.target), inDialog, at: event.timeStamp }, actions.all());
      if (action === null) return;
      event.preventDefault();
      action.run();
    }
    window.addEventListener('keydown', onKeyDown);
    return () => window.removeEventListener('keydown', onKeyDown);
  }, [read, actions]);
}
