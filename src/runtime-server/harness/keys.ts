/**
 * Named keys to the bytes that xterm sends (xterm "Control Sequences", PC-style function keys). Must not know panes or harnesses.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { namedKeys } from '../../contracts/factory/agent.ts';

const ESC = '\x1b';

/** Keys that become `CSI 1 ; m X`, or `SS3 X` / `CSI X` without modifiers. */
const finals: Readonly<Record<string, string>> = { Up: 'A', Down: 'B', Right: 'C', Left: 'D', Home: 'H', End: 'F' };
/** F1 to F4: `SS3 X` without modifiers. */
const functionFinals: Readonly<Record<string, string>> = { F1: 'P', F2: 'Q', F3: 'R', F4: 'S' };
/** Keys that become `CSI n ~`. */
const numbers: Readonly<Record<string, number>> = {
  Insert: 2,
  Delete: 3,
  PageUp: 5,
  PageDown: 6,
  F5: 15,
  F6: 17,
  F7: 18,
  F8: 19,
  F9: 20,
  F10: 21,
  F11: 23,
  F12: 24,
};

interface Modifiers {
  control: boolean;
  meta: boolean;
  shift: boolean;
}

/**
 * Bytes of one key: a name of `namedKeys` or one character, with any of `C-`, `M-`, `S-` before it.
 * `applicationCursor`: the program asked for DECCKM, so arrows, Home and End are `SS3`. `usage` names an unknown key.
 */
export function keyBytes(key: string, applicationCursor = false): string {
  const modifiers: Modifiers = { control: false, meta: false, shift: false };
  let name = key;
  for (let prefix = /^([CMS])-(?=.)/u.exec(name); prefix; prefix = /^([CMS])-(?=.)/u.exec(name)) {
    if (prefix[1] === 'C') modifiers.control = true;
    else if (prefix[1] === 'M') modifiers.meta = true;
    else modifiers.shift = true;
    name = name.slice(2);
  }
  const bytes = named(name, modifiers, applicationCursor) ?? character(name, modifiers);
  if (bytes === null) {
    throw new AppError(
      'usage',
      `"${key}" is not a key.`,
      `Use one of ${namedKeys.slice(0, 15).join(', ')}, F1 to F12, or one character, with C-, M- or S- before it.`,
    );
  }
  return bytes;
}

function named(name: string, modifiers: Modifiers, applicationCursor: boolean): string | null {
  const parameter = 1 + (modifiers.shift ? 1 : 0) + (modifiers.meta ? 2 : 0) + (modifiers.control ? 4 : 0);
  const final = finals[name];
  if (final) return parameter > 1 ? `${ESC}[1;${parameter}${final}` : `${ESC}${applicationCursor ? 'O' : '['}${final}`;
  const functionFinal = functionFinals[name];
  if (functionFinal) return parameter > 1 ? `${ESC}[1;${parameter}${functionFinal}` : `${ESC}O${functionFinal}`;
  const number = numbers[name];
  if (number !== undefined) return parameter > 1 ? `${ESC}[${number};${parameter}~` : `${ESC}[${number}~`;
  const meta = modifiers.meta ? ESC : '';
  switch (name) {
    case 'Enter':
      return `${meta}\r`;
    case 'Escape':
      return `${meta}${ESC}`;
    case 'Tab':
      return modifiers.shift ? `${meta}${ESC}[Z` : `${meta}\t`;
    case 'Backspace':
      return `${meta}${modifiers.control ? '\b' : '\x7f'}`;
    case 'Space':
      return `${meta}${modifiers.control ? '\0' : ' '}`;
    default:
      return null;
  }
}

function character(name: string, modifiers: Modifiers): string | null {
  const [char, ...rest] = [...name];
  if (char === undefined || rest.length > 0 || /\p{C}/u.test(char)) return null;
  const meta = modifiers.meta ? ESC : '';
  if (!modifiers.control) return meta + (modifiers.shift ? char.toUpperCase() : char);
  const control = controlByte(char);
  return control === null ? null : meta + control;
}

/** Ctrl with a character: the five-bit codes of terminals; null where there is none (`C-é`). */
function controlByte(char: string): string | null {
  if (char === '?') return '\x7f';
  const code = char.toUpperCase().charCodeAt(0);
  if (code >= 0x40 && code <= 0x5f) return String.fromCharCode(code & 0x1f);
  // The digits of a VT220: Ctrl-2 is NUL, Ctrl-3 to Ctrl-7 are ESC to US, Ctrl-8 is DEL.
  const digit = '2345678'.indexOf(char);
  if (digit >= 0) return digit === 6 ? '\x7f' : String.fromCharCode([0, 27, 28, 29, 30, 31][digit] ?? 0);
  return char === ' ' ? '\0' : char === '/' ? '\x1f' : null;
}
