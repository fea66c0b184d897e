/**
 * Converts every coordinate in a call's input to pixels of the frame; the call names its space in `model_frame` and
 * `coordinate_space`. How one coordinate is converted: contracts/computer-use/frame.ts. Pure. Must not know members.
 */
import { type Space, toFrame } from '../../contracts/computer-use/frame.ts';
import type { Screen } from '../../contracts/computer-use/toolset.ts';

export type Input = Readonly<Record<string, unknown>>;
type Placed = { readonly input: Input } | { readonly outside: string };

/** Whether the frame has to be known before the input can be read. */
export const needsFrame = (space: Space): boolean =>
  space.model_frame !== undefined || space.coordinate_space === 'normalized_1000';

/** `input` is valid. A region may end at the edge. */
export function inFrame(input: Input, space: Space, screen: Screen): Placed {
  let outside: string | null = null;
  const place = (x: number, y: number): { x: number; y: number } => {
    const point = toFrame(screen, { x, y }, space);
    if (point === null) outside ??= `${x}, ${y} is not in ${sizeOf(space, screen)}`;
    return point ?? { x, y };
  };
  const pair = (value: unknown): unknown => {
    if (!Array.isArray(value)) return value;
    const { x, y } = place(value[0] as number, value[1] as number);
    return [x, y];
  };
  const target = (value: unknown): unknown => {
    const given = value as { type?: unknown; x?: unknown; y?: unknown } | null;
    if (given?.type !== 'coordinate') return value;
    return { ...given, ...place(given.x as number, given.y as number) };
  };
  const region = (value: unknown): unknown => {
    if (!Array.isArray(value)) return value;
    const [x0, y0, x1, y1] = value as [number, number, number, number];
    const from = place(x0, y0);
    const to = {
      x: atEnd(x1, space.model_frame?.width, space, screen.frame_width) ?? place(x1, y0).x,
      y: atEnd(y1, space.model_frame?.height, space, screen.frame_height) ?? place(x0, y1).y,
    };
    if (!(to.x > from.x && to.y > from.y)) outside ??= `the region ${JSON.stringify(value)} has no area`;
    return [from.x, from.y, to.x, to.y];
  };
  const readers: Readonly<Record<string, (value: unknown) => unknown>> = {
    coordinate: pair,
    start_coordinate: pair,
    region,
    target,
    from: target,
  };
  const placed = Object.fromEntries(
    Object.entries(input).map(([name, value]) => [name, Object.hasOwn(readers, name) ? readers[name]!(value) : value]),
  );
  return outside === null ? { input: placed } : { outside };
}

/** The edge itself, where a region ends there; null elsewhere. */
function atEnd(value: number, model: number | undefined, space: Space, size: number): number | null {
  const edge = space.coordinate_space === 'normalized_1000' ? 1000 : (model ?? size);
  return value === edge ? size : null;
}

function sizeOf(space: Space, screen: Screen): string {
  if (space.coordinate_space === 'normalized_1000') return 'the grid of 1000';
  const { width, height } = space.model_frame ?? { width: screen.frame_width, height: screen.frame_height };
  return `the frame of ${width} × ${height}`;
}
