/**
 * What a person types, pastes and drops into a pane's terminal: named keys by name, everything else as text; one request in flight keeps the order. Keys
 * of the app and of the browser are left to them. Must not know screens.
 */
import type { Terminal } from '@xterm/xterm';
import { isFindKey, keyName } from '../../ui/terminal/keys.ts';
import { createInputQueue, type Keystroke } from './input-queue.ts';
import type { PanePort } from './pane-port.ts';
import { imagesIn } from './paste-images.ts';

interface PaneTyping {
  type(input: Keystroke): void;
  close(): void;
}

export function createPaneTyping({
  element,
  terminal,
  pane,
  keepImages,
  onType,
  onImages,
  onFind,
  onError,
}: {
  readonly element: HTMLElement;
  readonly terminal: Terminal;
  readonly pane: Pick<PanePort, 'input'>;
  /** Keeps images as files that the program can open, and resolves with their paths; null: its program cannot open any. */
  readonly keepImages: () => ((images: readonly File[]) => Promise<string>) | null;
  readonly onType: () => void;
  /** Images are on their way into it. */
  readonly onImages: () => void;
  readonly onFind: () => void;
  readonly onError: (error: unknown) => void;
}): PaneTyping {
  let over = false;
  const queue = createInputQueue((input) => pane.input(input), onError);

  function type(input: Keystroke): void {
    queue.push(input);
    onType();
  }

  terminal.attachCustomKeyEventHandler((event) => {
    if (event.type !== 'keydown') return true;
    const control = event.ctrlKey && !event.altKey && !event.metaKey;
    const letter = event.key.toLowerCase();
    // Of the app: shortcuts with Ctrl Shift. Of the browser: paste, and copy when something is selected.
    if (control && event.shiftKey && ['a', 'f', 'l', 'o', 'p', 'arrowup', 'arrowdown'].includes(letter)) return false;
    if (isFindKey(event)) {
      event.preventDefault();
      onFind();
      return false;
    }
    if (control && letter === 'v') return false;
    if (control && letter === 'c' && (event.shiftKey || terminal.hasSelection())) {
      event.preventDefault();
      void navigator.clipboard.writeText(terminal.getSelection());
      terminal.clearSelection();
      return false;
    }
    const key = keyName({
      key: event.key,
      ctrlKey: event.ctrlKey,
      altKey: event.altKey,
      shiftKey: event.shiftKey,
      metaKey: event.metaKey,
      isComposing: event.isComposing,
      altGraph: event.getModifierState('AltGraph'),
    });
    if (key === null) return true;
    event.preventDefault();
    type({ key });
    return false;
  });
  const onData = terminal.onData((text) => type({ text }));

  /** Gives a program the path of an image that it can open. False: there was no image. */
  function putImages(data: DataTransfer | null): boolean {
    const images = imagesIn(data);
    const keep = images.length === 0 ? null : keepImages();
    if (keep === null) return false;
    keep(images).then(
      // A pane that is behind another tab by now still gets it.
      (paste) => (over ? pane.input({ text: paste, paste: true }) : type({ paste })),
      onError,
    );
    onImages();
    return true;
  }

  const onDragOver = (event: DragEvent): void => {
    if (event.dataTransfer?.types.includes('Files') === true) event.preventDefault();
  };
  const onDrop = (event: DragEvent): void => {
    if (putImages(event.dataTransfer)) event.preventDefault();
  };
  // Send a paste as a paste, because only the pane knows whether its program wants it bracketed.
  const onPaste = (event: ClipboardEvent): void => {
    event.preventDefault();
    event.stopPropagation();
    if (putImages(event.clipboardData)) return;
    type({ paste: (event.clipboardData?.getData('text/plain') ?? '').replace(/\r?\n/g, '\r') });
  };
  element.addEventListener('paste', onPaste, { capture: true });
  element.addEventListener('dragover', onDragOver);
  element.addEventListener('drop', onDrop);

  return {
    type,
    close() {
      element.removeEventListener('paste', onPaste, { capture: true });
      element.removeEventListener('dragover', onDragOver);
      element.removeEventListener('drop', onDrop);
      onData.dispose();
      over = true;
      queue.close();
    },
  };
}
