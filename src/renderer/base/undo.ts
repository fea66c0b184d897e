/**
 * What a person can take back: each thing done offers its way back in a toast, and Ctrl Z takes the last one. Must not know what was done.
 */
import { useCallback, useMemo, useSyncExternalStore } from 'react';
import { toast } from 'sonner';
import { describeProblem } from '../ui/describe-problem.ts';
import type { Action } from './actions.ts';
import { useAddActions, useServices } from './services.tsx';
import type { Done, UndoStore } from './undo-store.ts';

/** How long the toast stays, in ms; the key still works afterwards. */
const shownFor = 8_000;
/** Of why it could not be taken back and what to do about it, which is more to read; ms. */
const readFor = 20_000;

const isMac = () => navigator.platform.startsWith('Mac');

/** Says in a toast what was done, with a button that takes it back. */
export function useOfferUndo(): (words: string, back: () => Promise<unknown>) => void {
  const { undo } = useServices();
  return useCallback(
    (words, back) => {
      const id = crypto.randomUUID();
      undo.add({ id, words, back });
      toast(words, {
        id,
        duration: shownFor,
        description: `Outside a text field, ${isMac() ? '⌘' : 'Ctrl '}Z takes it back.`,
        action: { label: 'Undo', onClick: () => void takeBack(undo, { id, words }) },
      });
    },
    [undo],
  );
}

async function takeBack(undo: UndoStore, { id, words }: Pick<Done, 'id' | 'words'>): Promise<void> {
  toast.dismiss(id);
  try {
    if (await undo.takeBack(id)) toast(`Undone: ${words.charAt(0).toLowerCase()}${words.slice(1)}`);
  } catch (error) {
    const problem = describeProblem(error);
    toast.error(`Could not undo: ${problem.fact}`, { description: problem.action, duration: readFor });
  }
}

/** Ctrl Z and its row in the palette, while there is something to take back. */
export function useUndoAction(): void {
  const { undo } = useServices();
  const last = useSyncExternalStore(undo.subscribe, undo.last);
  const actions = useMemo<readonly Action[]>(
    () =>
      last === null
        ? []
        : [
            {
              id: 'undo',
              title: `Undo: ${last.words}`,
              group: 'This page',
              keys: 'Ctrl Z',
              changes: 'at once',
              run: () => void takeBack(undo, last),
            },
          ],
    [undo, last],
  );
  useAddActions(actions);
}
