/** A key of the keyboard → its name in the API. Must not know terminals or panes. */

const named: Readonly<Record<string, string>> = {
  Enter: 'Enter',
  Tab: 'Tab',
  Escape: 'Escape',
  Backspace: 'Backspace',
  Delete: 'Delete',
  ArrowUp: 'Up',
  ArrowDown: 'Down',
  ArrowLeft: 'Left',
  ArrowRight: 'Right',
  Home: 'Home',
  End: 'End',
  PageUp: 'PageUp',
  PageDown: 'PageDown',
  Insert: 'Insert',
};

export interface KeyPress {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
  readonly metaKey: boolean;
  readonly isComposing: boolean;
  /** True while AltGr is held: it types a character and is not Ctrl+Alt. */
  readonly altGraph: boolean;
}

/** The key's name (`C-c`, `S-Tab`, `F5`), or null when it is plain text, or the browser's own business. */
export function keyName(press: KeyPress): string | null {
  if (press.isComposing || press.metaKey || press.altGraph) return null;
  const control = press.ctrlKey ? 'C-' : '';
  const meta = press.altKey ? 'M-' : '';
  const shift = press.shiftKey ? 'S-' : '';
  const name = named[press.key] ?? (/^F([1-9]|1[0-2])$/.test(press.key) ? press.key : undefined);
  if (name !== undefined) return control + meta + shift + name;
  if (!press.ctrlKey && !press.altKey) return null;
  if (press.key === ' ') return `${control}${meta}${shift}Space`;
  // Dead keys and modifiers themselves have longer names. Printable ones already carry their shift.
  if ([...press.key].length !== 1) return null;
  return control + meta + (press.ctrlKey ? press.key.toLowerCase() : press.key);
}

const isMac = () => navigator.platform.startsWith('Mac');

/** Cmd F on a Mac, where Ctrl F is the program's; Ctrl F elsewhere. */
export function isFindKey(event: Pick<KeyboardEvent, 'key' | 'ctrlKey' | 'metaKey' | 'altKey' | 'shiftKey'>): boolean {
  const { key, ctrlKey, metaKey, altKey, shiftKey } = event;
  return key.toLowerCase() === 'f' && !altKey && !shiftKey && (isMac() ? metaKey && !ctrlKey : ctrlKey && !metaKey);
}
