/**
 * The pointer of a display through XTEST: moves, buttons, wheel. It knows which buttons are down by its doing and lets go of them.
 * Coordinates are pixels of the screen. Must not know frames.
 */
import { setTimeout as later } from 'node:timers/promises';
import type { Point } from '../../../contracts/computer-use/frame.ts';
import type { Display } from './display.ts';

export const buttons = { left: 1, middle: 2, right: 3 } as const;
/** The wheel is buttons, too. */
export const wheel = { up: 4, down: 5, left: 6, right: 7 } as const;

/** Milliseconds between the moves of a drag: programs that start one look at each move in a turn of their own. */
const dragStepMs = 8;
const dragSteps = 12;

export interface Pointer {
  move(to: Point): void;
  press(button: number): void;
  release(button: number): void;
  click(button: number, times: number): void;
  /** Stops with the signal; the button is released then. */
  drag(from: Point, to: Point, signal: AbortSignal): Promise<void>;
  /** Whatever is down by our doing. */
  letGo(): void;
  /** Releases buttons that are down: an executor that died may have left them so. Does nothing to buttons that a hand holds. */
  free(): Promise<void>;
}

export function createPointer(display: Display): Pointer {
  const { test, root } = display;
  const down = new Set<number>();
  const fake = (type: number, detail: number, at: Point = { x: 0, y: 0 }) =>
    test.FakeInput(type, detail, 0, root, at.x, at.y);

  const pointer: Pointer = {
    move: (to) => fake(test.MotionNotify, 0, to),
    press(button) {
      down.add(button);
      fake(test.ButtonPress, button);
    },
    release(button) {
      fake(test.ButtonRelease, button);
      down.delete(button);
    },
    click(button, times) {
      for (let time = 0; time < times; time += 1) {
        pointer.press(button);
        pointer.release(button);
      }
    },
    async drag(from, to, signal) {
      pointer.move(from);
      pointer.press(buttons.left);
      try {
        for (let step = 1; step <= dragSteps; step += 1) {
          await later(dragStepMs, undefined, { signal });
          const along = (start: number, end: number) => Math.round(start + ((end - start) * step) / dragSteps);
          pointer.move({ x: along(from.x, to.x), y: along(from.y, to.y) });
        }
        await later(dragStepMs * 3, undefined, { signal });
      } finally {
        pointer.release(buttons.left);
      }
    },
    letGo() {
      for (const button of down) pointer.release(button);
    },
    async free() {
      const { buttons: pressed } = await display.pointer();
      for (const button of Object.values(buttons)) if (((pressed >> (button - 1)) & 1) === 1) pointer.release(button);
    },
  };
  return pointer;
}
