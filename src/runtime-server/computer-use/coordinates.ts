/**
 * Coordinates of a call into those of the frame, which is what pictures show (gaps.md D: `model_frame`, `coordinate_space`). Rounded
 * once, to whole pixels. Pure. Must not know the screen behind the frame.
 */
import { memberOf, type Toolset } from '../../contracts/computer-use/members.ts';
import type { Screen, ToolsetCall } from '../../contracts/computer-use/toolset.ts';

export type Input = Readonly<Record<string, unknown>>;
export type Space = Pick<ToolsetCall, 'model_frame' | 'coordinate_space'>;
type Frame = Pick<Screen, 'frame_width' | 'frame_height'>;

/** The grid of `normalized_1000`. */
const grid = 1000;

/** One number along one axis: `given` out of `of`, in a frame of `size` pixels. `normalized_1000` has 0–1000, its end the last pixel. */
export function toFrame(given: number, of: number, size: number): number {
  if (of === size) return Math.round(given);
  return Math.min(Math.round((given * size) / of), size - (given >= 0 && given <= of ? 1 : 0));
}

/** The other way, for whoever shows a place of the frame in another picture. */
export function fromFrame(place: number, of: number, size: number): number {
  return of === size ? place : (place * of) / size;
}

export const hasPoints = (toolset: Toolset, member: string): boolean => memberOf(toolset, member)?.points === true;

/** Whether the frame has to be known before the input can be read. */
export const needsFrame = (space: Space): boolean =>
  space.model_frame !== undefined || space.coordinate_space === 'normalized_1000';

/** `input` in pixels of the frame. */
export function inFrame(input: Input, space: Space, frame: Frame): Input {
  return mapPoints(input, (value, axis) => {
    const size = axis === 'x' ? frame.frame_width : frame.frame_height;
    if (space.coordinate_space === 'normalized_1000') return toFrame(value, grid, size);
    const given = axis === 'x' ? space.model_frame?.width : space.model_frame?.height;
    return toFrame(value, given ?? size, size);
  });
}

/** The first number that lies outside of the frame, in words; null where all lie in it. A region may end at the edge. */
export function outsideFrame(input: Input, frame: Frame): string | null {
  let found: string | null = null;
  mapPoints(input, (value, axis, edge) => {
    const size = axis === 'x' ? frame.frame_width : frame.frame_height;
    if (found === null && !(value >= 0 && (edge ? value <= size : value < size))) {
      found = `${axis} is ${value}; the frame is ${frame.frame_width} × ${frame.frame_height}`;
    }
    return value;
  });
  return found ?? emptyRegion(input);
}

function emptyRegion({ region }: Input): string | null {
  if (!Array.isArray(region)) return null;
  const [x0, y0, x1, y1] = region as number[];
  return x1! > x0! && y1! > y0! ? null : `the region ${JSON.stringify(region)} has no area`;
}

type Axis = 'x' | 'y';

/** Every number of the input that is a coordinate. */
function mapPoints(input: Input, map: (value: number, axis: Axis, edge: boolean) => number): Input {
  const at = (value: number, index: number, edge: boolean) => map(value, index % 2 === 0 ? 'x' : 'y', edge);
  const point = (value: unknown): unknown => {
    const target = value as { type?: unknown; x?: unknown; y?: unknown } | null;
    if (target?.type !== 'coordinate') return value;
    return { ...target, x: map(target.x as number, 'x', false), y: map(target.y as number, 'y', false) };
  };
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => {
      switch (name) {
        case 'coordinate':
        case 'start_coordinate':
          return [name, Array.isArray(value) ? value.map((one, index) => at(one as number, index, false)) : value];
        case 'region':
          return [name, Array.isArray(value) ? value.map((one, index) => at(one as number, index, true)) : value];
        case 'target':
        case 'from':
          return [name, point(value)];
        default:
          return [name, value];
      }
    }),
  );
}
