/**
 * Types any text. Characters that the layout has keys for are typed by keys; everything else, tabs and inner line
 * breaks included, is pasted from the clipboard, because synthesised keys lose or change such characters. A line break
 * at the end is Return.
 */
import { HandsFault } from '../hands.ts';
import type { Clipboard, SelectionName } from './clipboard.ts';
import type { Display } from './display.ts';
import type { Keyboard, Layout, Stroke } from './keyboard.ts';

/** Strokes between two looks at whether to stop. */
const burst = 32;
/** Characters by keys; programs take minutes for more. */
const maxStrokes = 500;
/** Milliseconds that a program has to request the text it was told to paste. */
const pasteMs = 1500;

/** Terminals of which ctrl+v is a key of the program inside; by the second word of WM_CLASS, lower case. */
const terminals = new Set([
  'gnome-terminal',
  'gnome-terminal-server',
  'org.gnome.terminal',
  'org.gnome.console',
  'kgx',
  'konsole',
  'org.kde.konsole',
  'xfce4-terminal',
  'mate-terminal',
  'lxterminal',
  'qterminal',
  'terminator',
  'tilix',
  'alacritty',
  'kitty',
  'foot',
  'wezterm',
  'org.wezfurlong.wezterm',
  'ghostty',
  'com.mitchellh.ghostty',
  'ptyxis',
  'org.gnome.ptyxis',
  'guake',
  'tilda',
  'termite',
  'deepin-terminal',
  'io.elementary.terminal',
  'st-256color',
  'st',
]);
/** Paste the primary selection with shift+Insert and know no other chord. */
const oldTerminals = new Set(['xterm', 'uxterm', 'urxvt', 'rxvt', 'eterm', 'aterm', 'mlterm', 'emacs']);

interface TypingDeps {
  readonly display: Display;
  readonly keyboard: Keyboard;
  readonly clipboard: Clipboard;
  /** Of the window that has the focus, lower case; empty where nobody says. */
  readonly focusedClass: () => Promise<string>;
}

/** Answers what it did in words. */
export type Typing = (text: string, signal: AbortSignal) => Promise<string>;

export function createTyping({ display, keyboard, clipboard, focusedClass }: TypingDeps): Typing {
  return async (text, signal) => {
    const lines = text.replaceAll('\r\n', '\n');
    const body = lines.replace(/\n+$/, '');
    const returns = lines.length - body.length;
    const layout = await keyboard.layout();
    const strokes = strokesOf(body, layout);
    const byKeys = strokes !== null && (strokes.length <= maxStrokes || !(await pasted(body, layout, signal)));
    if (byKeys) await pressed(strokes, layout, signal);
    else if (strokes === null && !(await pasted(body, layout, signal)))
      throw new HandsFault('page', 'not_editable', 'No focused field took the text: click into a field first.');
    if (returns > 0) {
      const enter = layout.chord('Return');
      for (let times = 0; times < returns; times += 1) {
        keyboard.press(enter);
        keyboard.release(enter);
      }
    }
    const count = [...text].length;
    return `Typed ${count} character${count === 1 ? '' : 's'} ${byKeys ? 'by keys' : 'through the clipboard'}.`;
  };

  async function pressed(strokes: readonly Stroke[], layout: Layout, signal: AbortSignal): Promise<void> {
    for (const [index, stroke] of strokes.entries()) {
      if (index % burst === 0) {
        await display.must((reply) => display.client.GetInputFocus(reply));
        signal.throwIfAborted();
      }
      keyboard.stroke(stroke, layout);
    }
  }

  /** False where nothing took it. */
  async function pasted(text: string, layout: Layout, signal: AbortSignal): Promise<boolean> {
    const program = await focusedClass();
    // Also where no key is a v: shift+Insert is older than any layout.
    const primary = oldTerminals.has(program) || !layout.has('v');
    const chord = layout.chord(primary ? 'shift+Insert' : terminals.has(program) ? 'ctrl+shift+v' : 'ctrl+v');
    const selections: readonly SelectionName[] = primary ? ['CLIPBOARD', 'PRIMARY'] : ['CLIPBOARD'];
    const paste = () => {
      keyboard.press(chord);
      keyboard.release(chord);
    };
    return clipboard.lend(selections, text, paste, pasteMs, signal);
  }
}

/** Null where one character has no key, or the key does something else: a tab goes to the next field, Return may send a form. */
function strokesOf(text: string, layout: Layout): readonly Stroke[] | null {
  const strokes: Stroke[] = [];
  for (const character of text) {
    // Keys beyond ASCII come out changed in some programs (dead keys, input methods).
    const stroke = character >= ' ' && character <= '~' ? layout.strokeOf(character) : null;
    if (stroke === null) return null;
    strokes.push(stroke);
  }
  return strokes;
}
