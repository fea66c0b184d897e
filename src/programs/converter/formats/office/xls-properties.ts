/**
 * Owns making an older spreadsheet's metadata ([MS-OLEPS]) safe to read: the library trusts each count in it and reads past the end until no memory
 * is left. Must not know cells.
 */
import { CFB } from '@e965/xlsx';

interface Stream {
  content?: Uint8Array;
  size: number;
}

interface Container {
  readonly FullPaths: readonly string[];
}

/** The same file, or one without the properties whose counts cannot be. Throws what the library throws for what is no compound file. */
export function withSoundProperties(bytes: Uint8Array): Uint8Array {
  const container = CFB.read(bytes, { type: 'array' }) as Container;
  let dropped = false;
  for (const name of ['/!DocumentSummaryInformation', '/!SummaryInformation']) {
    const stream = CFB.find(container, name) as Stream | null;
    if (stream?.content === undefined || isSound(Buffer.from(stream.content))) continue;
    stream.content = new Uint8Array(0);
    stream.size = 0;
    dropped = true;
  }
  return dropped ? (CFB.write(container, { type: 'array' }) as Uint8Array) : bytes;
}

const vector = 0x1000;

/** Every count is of things that may lie in the stream: properties of a set, entries of a list or of the dictionary. */
function isSound(stream: Buffer): boolean {
  try {
    const sets = stream.readUInt32LE(24);
    const starts = sets === 1 ? [48] : [68, stream.readUInt32LE(64)];
    return starts.every((start) => {
      const count = stream.readUInt32LE(start + 4);
      if (count * 8 > stream.length) return false;
      return Array.from({ length: count }, (_, index) => start + 8 + index * 8).every((at) => {
        const value = start + stream.readUInt32LE(at + 4);
        if (stream.readUInt32LE(at) === 0) return stream.readUInt32LE(value) <= stream.length;
        return (stream.readUInt32LE(value) & vector) === 0 || stream.readUInt32LE(value + 4) <= stream.length;
      });
    });
  } catch (cause) {
    // An offset outside the stream: it is truncated, and the library stops there.
    if (cause instanceof RangeError) return true;
    throw cause;
  }
}
