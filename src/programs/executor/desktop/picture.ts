/** Pictures of a display: a part of the screen as pixels, with the cursor, scaled to the size of a frame, as PNG. Must not know toolsets. */
import { promisify } from 'node:util';
import { constants, crc32, deflate } from 'node:zlib';
import type { Point, Size } from '../../../contracts/computer-use/frame.ts';
import type { Display } from './display.ts';

export interface Region extends Point, Size {}
interface Pixels extends Size {
  /** Three bytes a pixel: red, green, blue. */
  readonly data: Buffer;
}

const zPixmap = 2;
const allPlanes = 0xffffffff;
/** Level 1: a screen is a third larger than at 6, and done in a quarter of the time. */
const packing = { level: 1, memLevel: 9, strategy: constants.Z_DEFAULT_STRATEGY };
const pack = promisify(deflate) as (data: Buffer, options: typeof packing) => Promise<Buffer>;

/** As X has them: blue, green, red, one unused. `region` in pixels of the screen, inside of it. */
export async function grab(display: Display, region: Region): Promise<Buffer> {
  const { x, y, width, height } = region;
  const image = await display.must<{ data: Buffer }>((reply) =>
    display.client.GetImage(zPixmap, display.root, x, y, width, height, allPlanes, reply),
  );
  return image.data;
}

/** With the cursor, as a person sees it. */
export async function capture(display: Display, region: Region): Promise<Pixels> {
  const { fixes } = display;
  const [raw, cursor] = await Promise.all([
    grab(display, region),
    fixes === null ? null : display.ask<CursorImage>((reply) => fixes.GetCursorImage(reply)),
  ]);
  if (cursor !== null) draw(cursor, raw, region);
  const data = Buffer.allocUnsafe(region.width * region.height * 3);
  for (let from = 0, to = 0; to < data.length; from += 4, to += 3) {
    data[to] = raw[from + 2]!;
    data[to + 1] = raw[from + 1]!;
    data[to + 2] = raw[from]!;
  }
  return { width: region.width, height: region.height, data };
}

interface CursorImage {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly xhot: number;
  readonly yhot: number;
  /** Blue, green, red, alpha; colours are multiplied by it. */
  readonly cursorImage: Buffer;
}

function draw(cursor: CursorImage, raw: Buffer, region: Region): void {
  const left = cursor.x - cursor.xhot - region.x;
  const top = cursor.y - cursor.yhot - region.y;
  for (let row = Math.max(0, -top); row < cursor.height && top + row < region.height; row += 1)
    for (let column = Math.max(0, -left); column < cursor.width && left + column < region.width; column += 1) {
      const from = (row * cursor.width + column) * 4;
      const to = ((top + row) * region.width + left + column) * 4;
      const rest = 255 - cursor.cursorImage[from + 3]!;
      for (let part = 0; part < 3; part += 1)
        raw[to + part] = Math.min(255, cursor.cursorImage[from + part]! + (raw[to + part]! * rest + 127) / 255);
    }
}

/** Larger by straight lines between pixels, smaller by the mean of what falls together: letters stay legible. */
export function resize(pixels: Pixels, size: Size): Pixels {
  if (pixels.width === size.width && pixels.height === size.height) return pixels;
  return down(across(pixels, size.width), size.height);
}

/** Lines become `to` pixels long. */
function across({ data, width, height }: Pixels, to: number): Pixels {
  if (width === to) return { data, width, height };
  const result = Buffer.allocUnsafe(to * height * 3);
  const { first, weights } = weightsOf(width, to);
  for (let line = 0, put = 0; line < height; line += 1)
    for (let index = 0; index < to; index += 1, put += 3) {
      const some = weights[index]!;
      let [red, green, blue] = [0.5, 0.5, 0.5];
      for (let one = 0, at = (line * width + first[index]!) * 3; one < some.length; one += 1, at += 3) {
        const weight = some[one]!;
        red += data[at]! * weight;
        green += data[at + 1]! * weight;
        blue += data[at + 2]! * weight;
      }
      result[put] = red;
      result[put + 1] = green;
      result[put + 2] = blue;
    }
  return { data: result, width: to, height };
}

/** There are `to` lines then; whole lines are added up, so that memory is read in its order. */
function down({ data, width, height }: Pixels, to: number): Pixels {
  if (height === to) return { data, width, height };
  const stride = width * 3;
  const result = Buffer.allocUnsafe(stride * to);
  const { first, weights } = weightsOf(height, to);
  const sums = new Float32Array(stride);
  for (let line = 0; line < to; line += 1) {
    sums.fill(0.5);
    for (const [one, weight] of weights[line]!.entries()) {
      const at = (first[line]! + one) * stride;
      for (let byte = 0; byte < stride; byte += 1) sums[byte]! += data[at + byte]! * weight;
    }
    for (let byte = 0, put = line * stride; byte < stride; byte += 1, put += 1) result[put] = sums[byte]!;
  }
  return { data: result, width, height: to };
}

/** A triangle over each new pixel, as wide as what it stands for. */
function weightsOf(from: number, to: number): { first: readonly number[]; weights: readonly Float64Array[] } {
  const scale = from / to;
  const reach = Math.max(1, scale);
  const first: number[] = [];
  const weights: Float64Array[] = [];
  for (let index = 0; index < to; index += 1) {
    const centre = (index + 0.5) * scale - 0.5;
    const start = Math.max(0, Math.ceil(centre - reach));
    const end = Math.min(from - 1, Math.floor(centre + reach));
    const some = new Float64Array(end - start + 1).map((_, at) => 1 - Math.abs(start + at - centre) / reach);
    const sum = some.reduce((total, one) => total + one, 0);
    first.push(start);
    weights.push(sum > 0 ? some.map((one) => one / sum) : new Float64Array([1]));
  }
  return { first, weights };
}

export async function encodePng({ width, height, data }: Pixels): Promise<Buffer> {
  const stride = width * 3;
  const rows = Buffer.allocUnsafe((stride + 1) * height);
  for (let row = 0; row < height; row += 1) {
    // No filter: lines of a screen repeat themselves, and a filter takes longer than it saves.
    rows[row * (stride + 1)] = 0;
    data.copy(rows, row * (stride + 1) + 1, row * stride, (row + 1) * stride);
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  // Eight bits, red green blue, no interlacing.
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]),
    chunk('IHDR', header),
    chunk('IDAT', await pack(rows, packing)),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(kind: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(12 + data.length);
  whole.writeUInt32BE(data.length, 0);
  whole.write(kind, 4, 'latin1');
  data.copy(whole, 8);
  whole.writeUInt32BE(crc32(whole.subarray(4, 8 + data.length)), 8 + data.length);
  return whole;
}
