/**
 * The keyboard of a display: which key and which modifiers make a character or a named key in the layout that is in force now, chords
 * in xdotool's spelling, and what is held by our doing. The layout is asked for each time: people change it. Must not know toolsets.
 */
import x11 from 'x11';
import { HandsFault } from '../hands.ts';
import type { Display } from './display.ts';

/** Names that xdotool and models use beside X's own. Lower case. */
const otherNames: Readonly<Record<string, string>> = {
  ctrl: 'control_l',
  control: 'control_l',
  alt: 'alt_l',
  option: 'alt_l',
  shift: 'shift_l',
  super: 'super_l',
  meta: 'super_l',
  win: 'super_l',
  windows: 'super_l',
  cmd: 'super_l',
  command: 'super_l',
  altgr: 'iso_level3_shift',
  enter: 'return',
  esc: 'escape',
  del: 'delete',
  ins: 'insert',
  pageup: 'page_up',
  pgup: 'page_up',
  pagedown: 'page_down',
  pgdn: 'page_down',
  pgdown: 'page_down',
  arrowup: 'up',
  arrowdown: 'down',
  arrowleft: 'left',
  arrowright: 'right',
  capslock: 'caps_lock',
  numlock: 'num_lock',
  printscreen: 'print',
  spacebar: 'space',
};
/** The first of those that differ only in case. */
const keysymsByName: ReadonlyMap<string, number> = new Map(
  Object.entries(x11.keySyms)
    .map(([name, { code }]) => [name.slice('XK_'.length).toLowerCase(), code] as const)
    .reverse(),
);
const shiftLeft = 0xffe1;
const levelThree = 0xfe03;
/** Where letters lie on the keyboard that most are made as: programs read shortcuts so where a layout has no such letters. */
const placeOfLetter: ReadonlyMap<string, number> = new Map(
  (
    [
      [24, 'qwertyuiop'],
      [38, 'asdfghjkl'],
      [52, 'zxcvbnm'],
    ] as const
  ).flatMap(([first, letters]) => [...letters].map((letter, index) => [letter, first + index] as const)),
);
/** Caps lock among the modifiers of the core protocol. */
const lockMask = 2;

export interface Stroke {
  readonly keycode: number;
  readonly shift: boolean;
  /** AltGr. */
  readonly third: boolean;
}
export interface Chord {
  /** Pressed in this order, released in the other. */
  readonly keycodes: readonly number[];
}
export interface Layout {
  /** Null where this keyboard has no key for it. */
  strokeOf(character: string): Stroke | null;
  /** In the layout in force or another one that can be switched to. */
  has(character: string): boolean;
  /** Throws `unknown_key`. */
  chord(text: string): Chord;
  readonly shift: number | null;
  readonly third: number | null;
}

export interface Keyboard {
  layout(): Promise<Layout>;
  press(chord: Chord): void;
  release(chord: Chord): void;
  stroke(stroke: Stroke, layout: Layout): void;
  letGo(): void;
  /** Releases modifiers that are down: an executor that died may have left them so. Does nothing to keys that a hand holds. */
  free(): Promise<void>;
}

export function createKeyboard(display: Display): Keyboard {
  const { client, test, root, keycodes } = display;
  const down: number[] = [];
  const fake = (type: number, keycode: number) => test.FakeInput(type, keycode, 0, root, 0, 0);
  const press = (keycode: number) => {
    down.push(keycode);
    fake(test.KeyPress, keycode);
  };
  const release = (keycode: number) => {
    fake(test.KeyRelease, keycode);
    const at = down.lastIndexOf(keycode);
    if (at >= 0) down.splice(at, 1);
  };

  return {
    async layout() {
      const [map, state] = await Promise.all([
        display.must<number[][]>((reply) => client.GetKeyboardMapping(keycodes.first, keycodes.count, reply)),
        display.xkb === null
          ? null
          : display.ask<{ group: number; lockedMods: number }>((reply) =>
              display.xkb!.GetState(display.xkb!.UseCoreKbd, reply),
            ),
      ]);
      return layoutOf(map, keycodes.first, state?.group ?? 0, ((state?.lockedMods ?? 0) & lockMask) !== 0);
    },
    press: (chord) => {
      for (const keycode of chord.keycodes) press(keycode);
    },
    release: (chord) => {
      for (const keycode of chord.keycodes.toReversed()) release(keycode);
    },
    stroke({ keycode, shift, third }, layout) {
      const held = [shift ? layout.shift : null, third ? layout.third : null].filter((one) => one !== null);
      for (const one of held) press(one);
      press(keycode);
      release(keycode);
      for (const one of held.reverse()) release(one);
    },
    letGo() {
      for (const keycode of down.toReversed()) release(keycode);
    },
    async free() {
      const [keys, modifiers] = await Promise.all([
        display.must<Buffer>((reply) => client.QueryKeymap(reply)),
        display.must<number[][]>((reply) => client.GetModifierMapping(reply)),
      ]);
      for (const keycode of new Set(modifiers.flat()))
        if (keycode > 0 && ((keys[keycode >> 3]! >> (keycode & 7)) & 1) === 1) fake(test.KeyRelease, keycode);
    },
  };
}

/**
 * Rows of the core protocol: first group, levels 1 and 2; second group, the same; then levels 3 and 4 of the first and of the second
 * (XKB protocol 12.4).
 */
function layoutOf(map: readonly (readonly number[])[], first: number, group: number, locked: boolean): Layout {
  const columns = group === 1 ? [2, 3, 6, 7] : [0, 1, 4, 5];
  const strokes = new Map<number, Stroke>();
  const anywhere = new Map<number, number>();
  for (const [level, column] of columns.entries())
    map.forEach((row, index) => {
      const keysym = row[column] ?? 0;
      if (keysym !== 0 && !strokes.has(keysym))
        strokes.set(keysym, { keycode: first + index, shift: level % 2 === 1, third: level > 1 });
    });
  map.forEach((row, index) => {
    for (const keysym of row) if (keysym !== 0 && !anywhere.has(keysym)) anywhere.set(keysym, first + index);
  });
  const shift = anywhere.get(shiftLeft) ?? null;
  const third = anywhere.get(levelThree) ?? null;
  const possible = (stroke: Stroke | undefined) =>
    stroke === undefined || (stroke.shift && shift === null) || (stroke.third && third === null) ? null : stroke;

  const layout: Layout = {
    shift,
    third,
    strokeOf(character) {
      const stroke = possible(strokes.get(keysymOf(character)));
      // Caps lock turns what shift does to letters.
      return stroke !== null && locked && !stroke.third && character.toLowerCase() !== character.toUpperCase()
        ? { ...stroke, shift: !stroke.shift }
        : stroke;
    },
    has: (character) => anywhere.has(keysymOf(character)),
    chord(text) {
      const names = namesOf(text);
      const keycodes: number[] = [];
      for (const [index, name] of names.entries()) {
        const keysym = named(name, names.length > 1);
        const stroke = keysym === null ? null : possible(strokes.get(keysym));
        // A shortcut means the key, also where the layout in force has another letter on it.
        const keycode =
          stroke?.keycode ??
          (keysym === null ? undefined : anywhere.get(keysym)) ??
          (names.length > 1 ? placeOfLetter.get(name.toLowerCase()) : undefined);
        if (keycode === undefined)
          throw new HandsFault('invalid', 'unknown_key', `There is no key ${JSON.stringify(name)} on this keyboard.`);
        const last = index === names.length - 1;
        if (last && stroke?.shift && shift !== null && !keycodes.includes(shift)) keycodes.push(shift);
        if (last && stroke?.third && third !== null && !keycodes.includes(third)) keycodes.push(third);
        if (!keycodes.includes(keycode)) keycodes.push(keycode);
      }
      return { keycodes };
    },
  };
  return layout;
}

/** `ctrl++` is control and plus. */
function namesOf(text: string): string[] {
  const names: string[] = [];
  let rest = text;
  while (rest.length > 0) {
    const end = rest.indexOf('+', 1);
    names.push(end < 0 ? rest : rest.slice(0, end));
    rest = end < 0 ? '' : rest.slice(end + 1);
  }
  return names;
}

function named(name: string, inChord: boolean): number | null {
  // ctrl+C is what people write for ctrl+c.
  if ([...name].length === 1) return keysymOf(inChord ? name.toLowerCase() : name);
  const lower = otherNames[name.toLowerCase()] ?? name.toLowerCase();
  return x11.keySyms[`XK_${name}`]?.code ?? keysymsByName.get(lower) ?? null;
}

/** X's own rule: Latin-1 is itself, the rest of Unicode is shifted. */
function keysymOf(character: string): number {
  const code = character.codePointAt(0)!;
  return code <= 0xff ? code : 0x1000000 + code;
}
