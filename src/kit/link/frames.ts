/**
 * Frames of HTTP/2 (RFC 9113, 4 and 6): writes them, and finds them in bytes that come in parts of any size. Must not know what a stream is, or in what
 * state one is.
 */

/** The other side sent what HTTP/2 does not allow. */
export class BrokenProtocol extends Error {}

export const frameTypes = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  pushPromise: 5,
  ping: 6,
  goAway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const frameFlags = { ack: 1, endStream: 1, endHeaders: 4, padded: 8, priority: 0x20 } as const;

const frameHeadBytes = 9;
/** What every implementation takes before it has said more (RFC 9113, 6.5.2). */
export const maxWhole = 16_384;

export interface FrameHead {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
}

export function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const made = Buffer.allocUnsafe(frameHeadBytes + payload.length);
  writeHead(made, 0, payload.length, type, flags, stream);
  payload.copy(made, frameHeadBytes);
  return made;
}

/** Below this, one copy costs less than one more part. */
const worthCopying = 4096;

/** DATA frames of at most `maxFrame` bytes each, as parts to send in this order. Large data is not copied: the caller leaves it as it is until it is sent. */
export function dataFrames(stream: number, data: Buffer, maxFrame: number): Buffer[] {
  if (data.length <= worthCopying) return [frame(frameTypes.data, 0, stream, data)];
  const parts: Buffer[] = [];
  for (let from = 0; from < data.length; from += maxFrame) {
    const to = Math.min(data.length, from + maxFrame);
    const head = Buffer.allocUnsafe(frameHeadBytes);
    writeHead(head, 0, to - from, frameTypes.data, 0, stream);
    parts.push(head, data.subarray(from, to));
  }
  return parts;
}

function writeHead(into: Buffer, at: number, length: number, type: number, flags: number, stream: number): void {
  into.writeUIntBE(length, at, 3);
  into[at + 3] = type;
  into[at + 4] = flags;
  into.writeUInt32BE(stream, at + 5);
}

/**
 * Takes bytes as they come. Data without padding is handed on in the parts in which it arrives, so that nothing waits for the rest of its frame; any other
 * frame comes whole. Throws on data longer than `maxFrame`, and on another frame longer than {@link maxWhole}.
 */
export function createFrameReader(
  maxFrame: number,
  {
    onData,
    onFrame,
  }: {
    /** `last`: the frame ends here. */
    readonly onData: (head: FrameHead, data: Buffer, last: boolean) => void;
    readonly onFrame: (head: FrameHead, payload: Buffer) => void;
  },
): (bytes: Buffer) => void {
  /** The beginning of a head, or of a frame that comes whole. */
  let kept: Buffer | null = null;
  /** Data of which `left` bytes are still to come. */
  let data: FrameHead | null = null;
  let left = 0;

  return (bytes) => {
    let input = bytes;
    if (kept !== null) {
      input = Buffer.concat([kept, bytes]);
      kept = null;
    }
    let at = 0;
    while (at < input.length) {
      if (data !== null) {
        const part = input.subarray(at, at + left);
        at += part.length;
        left -= part.length;
        const head: FrameHead = data;
        if (left === 0) data = null;
        onData(head, part, left === 0);
        continue;
      }
      if (input.length - at < frameHeadBytes) break;
      const length = input.readUIntBE(at, 3);
      const head: FrameHead = {
        type: input[at + 3] as number,
        flags: input[at + 4] as number,
        stream: input.readUInt32BE(at + 5) & 0x7fff_ffff,
      };
      const from = at + frameHeadBytes;
      const inParts = head.type === frameTypes.data && (head.flags & frameFlags.padded) === 0;
      const max = inParts ? maxFrame : maxWhole;
      if (length > max) throw new BrokenProtocol(`A frame of ${length} bytes is longer than ${max}.`);
      if (inParts) {
        at = from;
        if (length === 0) onData(head, input.subarray(0, 0), true);
        else {
          data = head;
          left = length;
        }
        continue;
      }
      if (input.length < from + length) break;
      at = from + length;
      onFrame(head, input.subarray(from, at));
    }
    if (at < input.length) kept = at === 0 ? input : Buffer.from(input.subarray(at));
  };
}

/** The payload without padding (RFC 9113, 6.1) and, in a HEADERS frame, without its priority (6.2). */
export function unpadded({ flags, type }: FrameHead, payload: Buffer): Buffer {
  let from = 0;
  let to = payload.length;
  if ((flags & frameFlags.padded) !== 0) {
    from = 1;
    to -= payload[0] ?? 0;
  }
  if (type === frameTypes.headers && (flags & frameFlags.priority) !== 0) from += 5;
  if (to < from) throw new BrokenProtocol('A frame has more padding than content.');
  return payload.subarray(from, to);
}
