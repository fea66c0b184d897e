/** Owns how wide and high a picture is, from the first bytes of its format. Must not decode pictures. */

interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** Null for formats that are not known here, and for cut files. */
export function imageSize(bytes: Uint8Array): ImageSize | null {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return png(view) ?? gif(view) ?? bmp(view) ?? webp(view) ?? jpeg(view) ?? isoMedia(view);
  } catch {
    // Reading beyond the end of a cut file.
    return null;
  }
}

const size = (width: number, height: number): ImageSize | null => (width > 0 && height > 0 ? { width, height } : null);
const text = (view: Buffer, at: number, length: number) => view.toString('latin1', at, at + length);

function png(view: Buffer): ImageSize | null {
  return text(view, 1, 3) === 'PNG' && text(view, 12, 4) === 'IHDR'
    ? size(view.readUInt32BE(16), view.readUInt32BE(20))
    : null;
}

function gif(view: Buffer): ImageSize | null {
  return text(view, 0, 4) === 'GIF8' ? size(view.readUInt16LE(6), view.readUInt16LE(8)) : null;
}

function bmp(view: Buffer): ImageSize | null {
  return text(view, 0, 2) === 'BM' ? size(view.readInt32LE(18), Math.abs(view.readInt32LE(22))) : null;
}

function webp(view: Buffer): ImageSize | null {
  if (text(view, 0, 4) !== 'RIFF' || text(view, 8, 4) !== 'WEBP') return null;
  switch (text(view, 12, 4)) {
    case 'VP8X':
      return size(view.readUIntLE(24, 3) + 1, view.readUIntLE(27, 3) + 1);
    case 'VP8L': {
      const bits = view.readUInt32LE(21);
      return size((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1);
    }
    case 'VP8 ':
      return size(view.readUInt16LE(26) & 0x3fff, view.readUInt16LE(28) & 0x3fff);
    default:
      return null;
  }
}

/** In the first frame header (ITU T.81, B.2.2). */
function jpeg(view: Buffer): ImageSize | null {
  if (view.readUInt16BE(0) !== 0xffd8) return null;
  let at = 2;
  while (at + 9 < view.length) {
    if (view[at] !== 0xff) {
      at += 1;
      continue;
    }
    const marker = view[at + 1] as number;
    const isFrame = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrame) return size(view.readUInt16BE(at + 7), view.readUInt16BE(at + 5));
    // Markers without a length: fill bytes, restarts, start and end of image.
    at +=
      marker === 0xff ? 1 : marker === 0x01 || (marker >= 0xd0 && marker <= 0xd9) ? 2 : 2 + view.readUInt16BE(at + 2);
  }
  return null;
}

/** HEIC and AVIF: the largest of the spatial extents (ISO 23008-12, 6.5.3); thumbnails have some of their own. */
function isoMedia(view: Buffer): ImageSize | null {
  if (text(view, 4, 4) !== 'ftyp') return null;
  let found: ImageSize | null = null;
  const head = view.subarray(0, 64 * 1024);
  for (let at = head.indexOf('ispe'); at !== -1 && at + 16 <= head.length; at = head.indexOf('ispe', at + 4)) {
    const [width, height] = [head.readUInt32BE(at + 8), head.readUInt32BE(at + 12)];
    if (found === null || width * height > found.width * found.height) found = size(width, height) ?? found;
  }
  return found;
}
