/**
 * The frame: what a picture of a screen shows, at most 1280 pixels along its longer edge and 1.15 megapixels, and the one
 * conversion from its coordinates to the screen's and back. Model services scale a larger picture down and then answer in
 * coordinates of a picture that nobody else has. Every place that has coordinates converts here. Must not know displays, browsers
 * or vendors.
 */
import type { Screen } from './toolset.ts';

/** Pixels. Beyond either, models scale the picture themselves and answer in an unknown space. */
export const maxFrameEdge = 1280;
export const largestFrame = 1_150_000;

export interface Size {
  readonly width: number;
  readonly height: number;
}
export interface Point {
  readonly x: number;
  readonly y: number;
}
/** How coordinates of a call are meant, where they are not pixels of the frame. */
export interface Space {
  readonly model_frame?: Size | undefined;
  readonly coordinate_space?: 'pixels' | 'normalized_1000' | undefined;
}

/** The largest picture size of this shape; `enlarge` also scales smaller ones up. */
export function pictureSize({ width, height }: Size, enlarge = false): Size {
  const fit = Math.min(maxFrameEdge / Math.max(width, height), Math.sqrt(largestFrame / (width * height)));
  const by = enlarge ? fit : Math.min(1, fit);
  return { width: Math.max(1, Math.floor(width * by + 1e-9)), height: Math.max(1, Math.floor(height * by + 1e-9)) };
}

/** The frame of a screen of this size in pixels. */
export function screenOf(size: Size): Screen {
  const frame = pictureSize(size);
  return {
    width: size.width,
    height: size.height,
    scale: size.width / frame.width,
    frame_width: frame.width,
    frame_height: frame.height,
  };
}

export function isInside(screen: Screen, { x, y }: Point): boolean {
  return x >= 0 && y >= 0 && x < screen.frame_width && y < screen.frame_height;
}

/** The pixel of the screen that lies under the middle of this one of the frame. The point is inside. */
export function toScreen(screen: Screen, { x, y }: Point): Point {
  return {
    x: under(x, screen.width / screen.frame_width, screen.width),
    y: under(y, screen.height / screen.frame_height, screen.height),
  };
}

/** The pixel of the frame in which the middle of this one of the screen lies: `toImage(toScreen(p))` is p. */
export function toImage(screen: Screen, { x, y }: Point): Point {
  return {
    x: under(x, screen.frame_width / screen.width, screen.frame_width),
    y: under(y, screen.frame_height / screen.height, screen.frame_height),
  };
}

/**
 * The model's point in pixels of the frame; fractions stay, since a larger model frame is finer. Null outside of the model's picture: clamping would
 * turn a wrong click into one at the edge.
 */
export function toFrame(screen: Screen, point: Point, space: Space): Point | null {
  const [x, y] = [
    along(point.x, screen.frame_width, space.model_frame?.width, space.coordinate_space),
    along(point.y, screen.frame_height, space.model_frame?.height, space.coordinate_space),
  ];
  return x === null || y === null ? null : { x, y };
}

function under(at: number, scale: number, end: number): number {
  return Math.min(end - 1, Math.max(0, Math.floor((at + 0.5) * scale)));
}

function along(
  value: number,
  size: number,
  modelSize: number | undefined,
  space: Space['coordinate_space'],
): number | null {
  if (!Number.isFinite(value) || value < 0) return null;
  // A grid of 1000; its last line is the last pixel.
  if (space === 'normalized_1000') return value > 1000 ? null : Math.min(size - 1, Math.round((value / 1000) * size));
  if (modelSize === undefined || modelSize === size) return value < size ? value : null;
  if (value >= modelSize) return null;
  return Math.min(size - 1, Math.max(0, ((value + 0.5) * size) / modelSize - 0.5));
}
