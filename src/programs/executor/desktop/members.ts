/**
 * The members of the `computer` toolset on one display. Inputs are valid; their coordinates are pixels of the frame.
 * Must not know who else uses the display.
 */
import { setTimeout as later } from 'node:timers/promises';
import { isInside, type Point, pictureSize, toImage, toScreen } from '../../../contracts/computer-use/frame.ts';
import type { ComputerMember } from '../../../contracts/computer-use/members.ts';
import type { ActedWith } from '../hands.ts';
import { HandsFault } from '../hands.ts';
import type { Display } from './display.ts';
import type { Chord, Keyboard } from './keyboard.ts';
import { capture, encodePng, type Region, resize } from './picture.ts';
import { buttons, type Pointer, wheel } from './pointer.ts';
import type { Typing } from './typing.ts';

/** Milliseconds between two of several chords or repeats: programs that act on a key look at one at a time. */
const betweenKeysMs = 2;

type Pair = readonly [number, number];
type Input = Readonly<Record<string, unknown>>;
type Done = Omit<ActedWith, 'screen'>;
type Act = (input: Input, signal: AbortSignal) => Promise<Done>;

const clicks = {
  left_click: [buttons.left, 1],
  right_click: [buttons.right, 1],
  middle_click: [buttons.middle, 1],
  double_click: [buttons.left, 2],
  triple_click: [buttons.left, 3],
} as const;

export function createMembers({
  display,
  pointer,
  keyboard,
  type,
}: {
  readonly display: Display;
  readonly pointer: Pointer;
  readonly keyboard: Keyboard;
  readonly type: Typing;
}): Readonly<Record<ComputerMember, Act>> {
  return {
    screenshot: async () => {
      const screen = display.screen();
      return picture({ x: 0, y: 0, width: screen.width, height: screen.height }, false);
    },
    async cursor_position() {
      const { x, y } = toImage(display.screen(), await display.pointer());
      return words(`X=${x},Y=${y}`);
    },
    zoom: ({ region }) => picture(regionOf(region as readonly [number, number, number, number]), true),
    async left_mouse_down() {
      pointer.press(buttons.left);
      return words(null);
    },
    async left_mouse_up() {
      pointer.release(buttons.left);
      return words(null);
    },
    left_click: click('left_click'),
    right_click: click('right_click'),
    middle_click: click('middle_click'),
    double_click: click('double_click'),
    triple_click: click('triple_click'),
    async left_click_drag(input, signal) {
      const [from, to] = [place(input.start_coordinate as Pair), place(input.coordinate as Pair)];
      await holding(input.text, () => pointer.drag(from, to, signal));
      return words(null);
    },
    async mouse_move(input) {
      pointer.move(place(input.coordinate as Pair));
      return words(null);
    },
    async scroll(input) {
      const to = input.coordinate === undefined ? null : place(input.coordinate as Pair);
      await holding(input.text, async () => {
        if (to !== null) pointer.move(to);
        pointer.click(wheel[input.scroll_direction as keyof typeof wheel], input.scroll_amount as number);
      });
      return words(null);
    },
    async type(input, signal) {
      return words(await type(input.text as string, signal));
    },
    async key(input, signal) {
      const layout = await keyboard.layout();
      // Several chords are separated by spaces, as in xdotool; a single space is the key.
      const text = input.text as string;
      const chords = (text.trim() === '' ? [text[0]!] : text.trim().split(/\s+/)).map(layout.chord);
      for (let time = 0; time < ((input.repeat as number | undefined) ?? 1); time += 1)
        for (const [index, chord] of chords.entries()) {
          if (time + index > 0) await later(betweenKeysMs, undefined, { signal });
          keyboard.press(chord);
          keyboard.release(chord);
        }
      return words(null);
    },
    async hold_key(input, signal) {
      await holding(input.text, () => later((input.duration as number) * 1000, undefined, { signal }));
      return words(null);
    },
    async wait(input, signal) {
      await later((input.duration as number) * 1000, undefined, { signal });
      return words(null);
    },
  };

  function click(member: keyof typeof clicks): Act {
    const [button, times] = clicks[member];
    return async (input) => {
      const to = input.coordinate === undefined ? null : place(input.coordinate as Pair);
      await holding(input.text, async () => {
        if (to !== null) pointer.move(to);
        pointer.click(button, times);
      });
      return words(null);
    };
  }

  /** Keys held during the action; an unknown one is reported before anything is done. */
  async function holding(text: unknown, work: () => Promise<void>): Promise<void> {
    const chord: Chord | null = text === undefined ? null : (await keyboard.layout()).chord(text as string);
    if (chord !== null) keyboard.press(chord);
    try {
      await work();
    } finally {
      if (chord !== null) keyboard.release(chord);
    }
  }

  function place([x, y]: Pair): Point {
    const screen = display.screen();
    if (!isInside(screen, { x, y })) throw outside(`(${x}, ${y})`);
    return toScreen(screen, { x, y });
  }

  /** Two corners of the frame; the second is beyond the last pixel. */
  function regionOf([x0, y0, x1, y1]: readonly [number, number, number, number]): Region {
    const screen = display.screen();
    if (!(x0 >= 0 && y0 >= 0 && x0 < x1 && y0 < y1 && x1 <= screen.frame_width && y1 <= screen.frame_height))
      throw outside(`The region [${x0}, ${y0}, ${x1}, ${y1}]`);
    const [right, down] = [screen.width / screen.frame_width, screen.height / screen.frame_height];
    const [x, y] = [Math.floor(x0 * right), Math.floor(y0 * down)];
    return { x, y, width: Math.max(1, Math.ceil(x1 * right) - x), height: Math.max(1, Math.ceil(y1 * down) - y) };
  }

  function outside(what: string): HandsFault {
    const { frame_width, frame_height } = display.screen();
    return new HandsFault(
      'invalid',
      'outside_frame',
      `${what} is outside the frame of ${frame_width} x ${frame_height}.`,
    );
  }

  async function picture(region: Region, enlarge: boolean): Promise<Done> {
    const pixels = resize(await capture(display, region), pictureSize(region, enlarge));
    const { width, height } = pixels;
    return {
      text: null,
      image: { media_type: 'image/png', width, height },
      browser_state: null,
      bytes: await encodePng(pixels),
    };
  }
}

function words(text: string | null): Done {
  return { text, image: null, browser_state: null };
}
