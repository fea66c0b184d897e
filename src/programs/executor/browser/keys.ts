/** Names of keys as xdotool has them, and what the browser calls them. Pure. */
import { HandsFault } from '../hands.ts';

const named: Readonly<Record<string, string>> = {
  ctrl: 'Control',
  control: 'Control',
  control_l: 'ControlLeft',
  control_r: 'ControlRight',
  alt: 'Alt',
  option: 'Alt',
  alt_l: 'AltLeft',
  alt_r: 'AltRight',
  iso_level3_shift: 'AltGraph',
  altgr: 'AltGraph',
  shift: 'Shift',
  shift_l: 'ShiftLeft',
  shift_r: 'ShiftRight',
  super: 'Meta',
  super_l: 'MetaLeft',
  super_r: 'MetaRight',
  meta: 'Meta',
  cmd: 'Meta',
  command: 'Meta',
  win: 'Meta',
  return: 'Enter',
  enter: 'Enter',
  kp_enter: 'NumpadEnter',
  linefeed: 'Enter',
  tab: 'Tab',
  iso_left_tab: 'Tab',
  space: 'Space',
  backspace: 'Backspace',
  delete: 'Delete',
  del: 'Delete',
  escape: 'Escape',
  esc: 'Escape',
  insert: 'Insert',
  ins: 'Insert',
  home: 'Home',
  end: 'End',
  page_up: 'PageUp',
  pageup: 'PageUp',
  prior: 'PageUp',
  page_down: 'PageDown',
  pagedown: 'PageDown',
  next: 'PageDown',
  up: 'ArrowUp',
  down: 'ArrowDown',
  left: 'ArrowLeft',
  right: 'ArrowRight',
  arrowup: 'ArrowUp',
  arrowdown: 'ArrowDown',
  arrowleft: 'ArrowLeft',
  arrowright: 'ArrowRight',
  menu: 'ContextMenu',
  contextmenu: 'ContextMenu',
  print: 'PrintScreen',
  pause: 'Pause',
  caps_lock: 'CapsLock',
  capslock: 'CapsLock',
  num_lock: 'NumLock',
  scroll_lock: 'ScrollLock',
  kp_add: 'NumpadAdd',
  kp_subtract: 'NumpadSubtract',
  kp_multiply: 'NumpadMultiply',
  kp_divide: 'NumpadDivide',
  kp_decimal: 'NumpadDecimal',
  minus: '-',
  plus: '+',
  equal: '=',
  comma: ',',
  period: '.',
  slash: '/',
  backslash: '\\',
  semicolon: ';',
  colon: ':',
  apostrophe: "'",
  quoteright: "'",
  quotedbl: '"',
  grave: '`',
  quoteleft: '`',
  asciitilde: '~',
  bracketleft: '[',
  bracketright: ']',
  braceleft: '{',
  braceright: '}',
  parenleft: '(',
  parenright: ')',
  underscore: '_',
  bar: '|',
  less: '<',
  greater: '>',
  question: '?',
  exclam: '!',
  at: '@',
  numbersign: '#',
  dollar: '$',
  percent: '%',
  asciicircum: '^',
  ampersand: '&',
  asterisk: '*',
};
const modifiers = new Set(['Control', 'Alt', 'AltGraph', 'Shift', 'Meta']);
/** The key on which a sign lies, for chords: with a modifier held it is the key that counts, not the sign. */
const signKeys: Readonly<Record<string, string>> = {
  '-': 'Minus',
  '=': 'Equal',
  ',': 'Comma',
  '.': 'Period',
  '/': 'Slash',
  '\\': 'Backslash',
  ';': 'Semicolon',
  "'": 'Quote',
  '`': 'Backquote',
  '[': 'BracketLeft',
  ']': 'BracketRight',
  '+': 'Equal',
};

/** Keys of a chord in the order in which they go down. `text`: instead of a key, a sign that no key of the layout makes. */
export interface Chord {
  readonly keys: readonly string[];
  readonly text: string | null;
}

/** `ctrl+a`; throws `unknown_key`. */
export function parseChord(chord: string): Chord {
  const names = chord === '+' ? ['+'] : chord.split(/(?<!^|\+)\+/u);
  const keys = names.map((name) => parseKey(name, chord));
  if (/^iso_left_tab$/i.test(names.at(-1)!)) keys.unshift('Shift');
  const held = keys.slice(0, -1);
  const last = keys.at(-1)!;
  const chorded = held.some((key) => modifiers.has(key.replace(/(Left|Right)$/, '')));
  if (!chorded) {
    const foreign = [...last].length === 1 && !isAscii(last);
    return foreign ? { keys: held, text: last } : { keys, text: null };
  }
  if (/^[a-z]$/i.test(last)) return { keys: [...held, `Key${last.toUpperCase()}`], text: null };
  if (/^[0-9]$/.test(last)) return { keys: [...held, `Digit${last}`], text: null };
  return { keys: [...held, signKeys[last] ?? last], text: null };
}

/** Chords one after the other where spaces part them. */
export function parseSequence(text: string): Chord[] {
  // A single space is the key.
  const parts = text.trim() === '' ? ['space'] : text.trim().split(/\s+/);
  return parts.map(parseChord);
}

/** `ctrl+shift`: keys to hold during something else. */
export function parseHeld(text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split('+').map((name) => parseKey(name.trim(), text));
}

function parseKey(name: string, chord: string): string {
  const key = named[name.toLowerCase()];
  if (key !== undefined) return key;
  if ([...name].length === 1) return name;
  const numpad = /^kp_([0-9])$/i.exec(name)?.[1];
  // The digit: without Num Lock those keys move the cursor.
  if (numpad !== undefined) return numpad;
  if (/^f([1-9]|1[0-9]|2[0-4])$/i.test(name)) return name.toUpperCase();
  throw new HandsFault(
    'page',
    'unknown_key',
    `${JSON.stringify(name)} in ${JSON.stringify(chord)} is not a key. Use names such as Return, Tab, Page_Up, BackSpace, ctrl+a.`,
  );
}

function isAscii(sign: string): boolean {
  return sign >= ' ' && sign <= '~';
}
