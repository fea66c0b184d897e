/** Turns a person's input in the live view into calls that do the same on the computer. Pure. */
import type { Toolset } from '../../../contracts/computer-use/members.ts';

export interface PersonCall {
  readonly toolset: Toolset;
  readonly member: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** In the frame, pixels. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** Where a place of the drawn picture lies in the frame. */
export function pointIn(
  box: { readonly left: number; readonly top: number; readonly width: number; readonly height: number },
  frame: { readonly width: number; readonly height: number },
  client: Point,
): Point {
  const part = (at: number, from: number, length: number, whole: number) =>
    Math.min(whole - 1, Math.max(0, Math.round(((at - from) / Math.max(1, length)) * whole)));
  return {
    x: part(client.x, box.left, box.width, frame.width),
    y: part(client.y, box.top, box.height, frame.height),
  };
}

type Click = 'left_click' | 'right_click' | 'middle_click' | 'double_click';
const inBrowser = ({ x, y }: Point) => ({ type: 'coordinate', x, y });
const onScreen = ({ x, y }: Point): readonly [number, number] => [x, y];

export function clickCall(toolset: Toolset, member: Click, at: Point): PersonCall {
  return { toolset, member, input: toolset === 'browser' ? { target: inBrowser(at) } : { coordinate: onScreen(at) } };
}

export function dragCall(toolset: Toolset, from: Point, to: Point): PersonCall {
  const input =
    toolset === 'browser'
      ? { from: inBrowser(from), target: inBrowser(to) }
      : { start_coordinate: onScreen(from), coordinate: onScreen(to) };
  return { toolset, member: 'left_click_drag', input };
}

/** Pixels of one notch of a wheel. */
const notch = 100;
const maxNotches = 10;

export function scrollCall(toolset: Toolset, at: Point, by: Point): PersonCall | null {
  const along = Math.abs(by.y) >= Math.abs(by.x) ? by.y : by.x;
  const vertical = along === by.y;
  const notches = Math.min(maxNotches, Math.round(Math.abs(along) / notch) || 1);
  if (along === 0) return null;
  const scroll_direction = vertical ? (along > 0 ? 'down' : 'up') : along > 0 ? 'right' : 'left';
  const where = toolset === 'browser' ? { target: inBrowser(at) } : { coordinate: onScreen(at) };
  return { toolset, member: 'scroll', input: { ...where, scroll_direction, scroll_amount: notches } };
}

/** Names of keys as xdotool has them, where a browser's are others. */
const names: Readonly<Record<string, string>> = {
  Enter: 'Return',
  Backspace: 'BackSpace',
  ArrowLeft: 'Left',
  ArrowRight: 'Right',
  ArrowUp: 'Up',
  ArrowDown: 'Down',
  PageUp: 'Page_Up',
  PageDown: 'Page_Down',
  ' ': 'space',
  '+': 'plus',
  '-': 'minus',
};
/** Keys that do nothing without another key. */
const modifiers: ReadonlySet<string> = new Set(['Shift', 'Control', 'Alt', 'Meta', 'AltGraph', 'CapsLock', 'Dead']);

interface Press {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly altKey: boolean;
  readonly metaKey: boolean;
  readonly shiftKey: boolean;
}

/** A text to type, a chord to press, or nothing. */
export function pressed(press: Press): { readonly text: string } | { readonly chord: string } | null {
  const { key, ctrlKey, altKey, metaKey, shiftKey } = press;
  if (modifiers.has(key) || key === 'Unidentified' || key === 'Process') return null;
  const single = [...key].length === 1;
  // AltGr is Ctrl and Alt at once, and writes a letter.
  const writes = single && !metaKey && ctrlKey === altKey;
  if (writes) return { text: key };
  const held = [ctrlKey && 'ctrl', altKey && 'alt', metaKey && 'super', shiftKey && 'shift'].filter(Boolean);
  return { chord: [...held, names[key] ?? (single ? key.toLowerCase() : key)].join('+') };
}

/**
 * What was typed at the end of a field between two states of it: so many characters back, then this text. Keyboards on glass say no more
 * than that: they name no keys, and change a word again while it is written.
 */
export function typedBetween(before: string, after: string): { readonly back: number; readonly text: string } {
  const [old, now] = [[...before], [...after]];
  let same = 0;
  while (same < old.length && same < now.length && old[same] === now[same]) same += 1;
  return { back: old.length - same, text: now.slice(same).join('') };
}

/** So many times at most in one call. */
const maxBackspaces = 100;

export function backCall(toolset: Toolset, times: number): PersonCall {
  return { toolset, member: 'key', input: { text: 'BackSpace', repeat: Math.min(times, maxBackspaces) } };
}
