/** A window's position: as it was left, if an existing display shows enough of it to grab. Pure. */
import { z } from 'zod';

export const WindowBounds = z.strictObject({
  x: z.number().int(),
  y: z.number().int(),
  width: z.number().int().positive(),
  height: z.number().int().positive(),
  maximized: z.boolean(),
});
export type WindowBounds = z.infer<typeof WindowBounds>;

interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export const smallest = { width: 390, height: 480 } as const;
const defaultSize = { width: 1440, height: 900 } as const;
/** Of its top edge, which is what a person moves it by. */
const visible = { width: 120, height: 40 } as const;
/** Another window stands a little lower and to the right of the last one. */
const step = 28;

type Place = { width: number; height: number; x?: number; y?: number };

/** `others`: windows that are open. Without a place the system centres it. */
export function placeWindow(
  left: WindowBounds | null,
  displays: readonly Rectangle[],
  others: readonly Rectangle[] = [],
): Place {
  const last = others.at(-1);
  const wanted = last === undefined ? left : { ...last, x: last.x + step, y: last.y + step };
  const display = wanted === null ? undefined : displays.find((one) => shows(one, wanted));
  if (wanted === null || display === undefined) {
    const size = left ?? defaultSize;
    const room = displays[0] ?? defaultSize;
    return { width: within(size.width, room.width, 'width'), height: within(size.height, room.height, 'height') };
  }
  return {
    x: wanted.x,
    y: wanted.y,
    width: within(wanted.width, display.width, 'width'),
    height: within(wanted.height, display.height, 'height'),
  };
}

function shows(display: Rectangle, { x, y, width }: Rectangle): boolean {
  const across = Math.min(x + width, display.x + display.width) - Math.max(x, display.x);
  return across >= visible.width && y >= display.y && y + visible.height <= display.y + display.height;
}

function within(size: number, room: number, side: 'width' | 'height'): number {
  return Math.max(smallest[side], Math.min(size, room));
}
