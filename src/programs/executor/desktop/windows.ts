/** Windows by position and focus, and their titles: for the text of questions and for how to paste. Must not know keys. */
import type { Property } from 'x11';
import type { Point } from '../../../contracts/computer-use/frame.ts';
import type { Display } from './display.ts';

interface WindowWords {
  /** The second word of WM_CLASS, lower case; empty where the window has none. */
  readonly program: string;
  readonly title: string;
}

export interface Windows {
  /** Null over the background. Pixels of the screen. */
  at(point: Point): Promise<WindowWords | null>;
  focused(): Promise<WindowWords | null>;
}

/** Windows lie in frames of the window manager and have windows inside: not deeper than this. */
const deepest = 12;
/** Of a property, in four bytes. */
const maxLength = 256;

export async function createWindows(display: Display): Promise<Windows> {
  const { client, root } = display;
  const atom = (name: string) => display.must<number>((reply) => client.InternAtom(false, name, reply));
  const [classAtom, titleAtom, plainTitleAtom] = await Promise.all(['WM_CLASS', '_NET_WM_NAME', 'WM_NAME'].map(atom));

  async function property(window: number, name: number | undefined): Promise<string> {
    const value = await display.ask<Property>((reply) => client.GetProperty(0, window, name!, 0, 0, maxLength, reply));
    return value?.data.toString('utf8') ?? '';
  }

  async function wordsOf(window: number): Promise<WindowWords | null> {
    const words = await property(window, classAtom);
    if (words === '') return null;
    const program = (words.split('\0')[1] ?? '').toLowerCase();
    return { program, title: (await property(window, titleAtom)) || (await property(window, plainTitleAtom)) };
  }

  return {
    async at(point) {
      let window = root;
      for (let depth = 0; depth < deepest; depth += 1) {
        const inside = await display.ask<{ child: number }>((reply) =>
          client.TranslateCoordinates(root, window, point.x, point.y, reply),
        );
        if (inside === null || inside.child === 0) return null;
        window = inside.child;
        const words = await wordsOf(window);
        if (words !== null) return words;
      }
      return null;
    },
    async focused() {
      const focus = await display.must<{ focus: number }>((reply) => client.GetInputFocus(reply));
      // 0 means none, 1 means wherever the pointer is.
      let window = focus.focus;
      for (let depth = 0; depth < deepest && window > 1 && window !== root; depth += 1) {
        const words = await wordsOf(window);
        if (words !== null) return words;
        const tree = await display.ask<{ parent: number }>((reply) => client.QueryTree(window, reply));
        if (tree === null) return null;
        window = tree.parent;
      }
      return null;
    },
  };
}
