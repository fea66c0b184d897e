import { describe, expect, test } from 'vitest';
import {
  isInside,
  largestFrame,
  maxFrameEdge,
  pictureSize,
  screenOf,
  toFrame,
  toImage,
  toScreen,
} from '../../../src/contracts/computer-use/frame.ts';

const sizes = [
  [1280, 800],
  [800, 600],
  [1366, 768],
  [1920, 1080],
  [2560, 1440],
  [3840, 2160],
  [1280, 1024],
  [1080, 1920],
  [3440, 1440],
  [1281, 801],
  [7680, 4320],
  [1, 1],
] as const;

describe.each(sizes)('a screen of %i x %i', (width, height) => {
  const screen = screenOf({ width, height });

  test('has a frame within both limits, in its shape, never enlarged', () => {
    const { frame_width, frame_height } = screen;
    expect(Math.max(frame_width, frame_height)).toBeLessThanOrEqual(maxFrameEdge);
    expect(frame_width * frame_height).toBeLessThanOrEqual(largestFrame);
    expect(Math.abs(frame_width / frame_height - width / height)).toBeLessThan((width / height) * 0.01);
    expect(frame_width).toBeLessThanOrEqual(width);
    expect(screen.scale).toBe(width / frame_width);
  });

  test('gets every pixel of the frame back from where it lies on the screen', () => {
    for (let x = 0; x < screen.frame_width; x += 1) {
      const there = toScreen(screen, { x, y: 0 }).x;
      expect(there >= 0 && there < width).toBe(true);
      expect(toImage(screen, { x: there, y: 0 }).x).toBe(x);
    }
    for (let y = 0; y < screen.frame_height; y += 1) expect(toImage(screen, toScreen(screen, { x: 0, y })).y).toBe(y);
  });

  test('is never off by more than what one pixel of the frame covers', () => {
    for (let x = 0; x < width; x += 7) {
      const back = toScreen(screen, toImage(screen, { x, y: 0 })).x;
      expect(Math.abs(back - x)).toBeLessThanOrEqual(Math.ceil(width / screen.frame_width));
    }
  });
});

test('a small screen is its own frame, pixel by pixel', () => {
  const screen = screenOf({ width: 1280, height: 800 });
  expect(screen).toEqual({ width: 1280, height: 800, scale: 1, frame_width: 1280, frame_height: 800 });
  expect(toScreen(screen, { x: 1279, y: 799 })).toEqual({ x: 1279, y: 799 });
});

test('a screen twice as large is hit in the middle of what a pixel of the frame shows', () => {
  const screen = screenOf({ width: 2560, height: 1440 });
  expect([screen.frame_width, screen.frame_height]).toEqual([1280, 720]);
  expect(toScreen(screen, { x: 0, y: 0 })).toEqual({ x: 1, y: 1 });
  expect(toScreen(screen, { x: 1279, y: 719 })).toEqual({ x: 2559, y: 1439 });
});

test('a part of the screen is enlarged up to what a picture may be', () => {
  expect(pictureSize({ width: 64, height: 40 }, true)).toEqual({ width: 1280, height: 800 });
  const square = pictureSize({ width: 10, height: 10 }, true);
  expect(square.width).toBe(square.height);
  expect(square.width * square.height).toBeLessThanOrEqual(largestFrame);
});

describe('coordinates in another space', () => {
  const screen = screenOf({ width: 2560, height: 1440 });

  test('of a scaled picture land on the same spot', () => {
    const at = toFrame(screen, { x: 320, y: 180 }, { model_frame: { width: 640, height: 360 } });
    expect(at).toEqual({ x: 640.5, y: 360.5 });
    expect(toScreen(screen, at!)).toEqual({ x: 1282, y: 722 });
  });

  test('of a picture as fine as the screen lose nothing', () => {
    for (let x = 0; x < 2560; x += 1) {
      const at = toFrame(screen, { x, y: 0 }, { model_frame: { width: 2560, height: 1440 } });
      // The first and the last half pixel lie beyond the middle of the frame's own.
      expect(Math.abs(toScreen(screen, at!).x - x)).toBeLessThanOrEqual(x === 0 || x === 2559 ? 1 : 0);
    }
  });

  test('of a grid of 1000 reach from the first pixel to the last', () => {
    const space = { coordinate_space: 'normalized_1000' } as const;
    expect(toFrame(screen, { x: 0, y: 0 }, space)).toEqual({ x: 0, y: 0 });
    expect(toFrame(screen, { x: 500, y: 500 }, space)).toEqual({ x: 640, y: 360 });
    expect(toFrame(screen, { x: 1000, y: 1000 }, space)).toEqual({ x: 1279, y: 719 });
  });

  test.each([
    [{ x: 1280, y: 0 }, {}],
    [{ x: 0, y: 720 }, {}],
    [{ x: -1, y: 0 }, {}],
    [{ x: Number.NaN, y: 0 }, {}],
    [{ x: Number.POSITIVE_INFINITY, y: 0 }, { coordinate_space: 'normalized_1000' as const }],
    [{ x: 1001, y: 0 }, { coordinate_space: 'normalized_1000' as const }],
    [{ x: 640, y: 0 }, { model_frame: { width: 640, height: 360 } }],
  ])('outside of what was seen are nowhere: %j %j', (point, space) => {
    expect(toFrame(screen, point, space)).toBeNull();
  });

  test('what is said to be inside is inside', () => {
    expect(isInside(screen, { x: 1279.9, y: 719.9 })).toBe(true);
    expect(isInside(screen, { x: 1280, y: 719 })).toBe(false);
    expect(isInside(screen, { x: Number.NaN, y: 0 })).toBe(false);
  });
});
