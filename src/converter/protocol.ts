/**
 * The wire between the conversion program and whoever drives it, over its stdin and stdout, one document at a time: a frame
 * `u32 length · head (JSON)` and then as many bytes as the head says. Both ends import this file and nothing else of each other.
 */
import type { FaultCode } from './format.ts';

export { type Family, type FaultCode, families, type Kind } from './format.ts';
export { defaultDeadlineMs, heapMegabytes, keptBelow, largestInput, longestMarkdown } from './limits.ts';

export interface RequestHead {
  readonly filename: string;
  readonly mimeType: string;
  /** Only documents of this family; null for all. */
  readonly family: string | null;
  readonly deadlineMs: number;
  /** Bytes of the document, which follow. */
  readonly size: number;
}

export interface AnswerHead {
  /** Bytes of Markdown in UTF-8, which follow. */
  readonly size: number;
  readonly document?: {
    readonly kind: string;
    readonly family: string;
    readonly mimeType: string;
    readonly charset: string | null;
    readonly metadata: Readonly<Record<string, unknown>>;
    readonly notes: readonly string[];
  };
  readonly fault?: { readonly code: FaultCode; readonly fact: string; readonly action: string };
  /** Bytes that the process takes now. */
  readonly resident: number;
}

/** What the program prints on stderr, alone on a line, before it ends itself. */
export const lastWords = {
  memory: 'converter: too much memory',
  orphan: 'converter: nobody is there any more',
} as const;

/** Bytes of one head; more is a fault of the other end. */
const longestHead = 1024 * 1024;

export function frame(head: RequestHead | AnswerHead): Buffer {
  const json = Buffer.from(JSON.stringify(head));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(json.length);
  return Buffer.concat([length, json]);
}

/**
 * Takes bytes as they come and calls `onDocument` with each whole one. The body is gathered in one buffer of its own: nothing is
 * copied twice. Throws `RangeError` for a head that cannot be.
 */
export function createFrameReader<Head extends { readonly size: number }>(
  largestBody: number,
  onDocument: (head: Head, body: Uint8Array) => void,
): (chunk: Uint8Array) => void {
  let start = Buffer.alloc(0);
  let head: Head | null = null;
  let body = new Uint8Array(0);
  let filled = 0;

  const finish = (): void => {
    const [done, bytes] = [head as Head, body];
    head = null;
    body = new Uint8Array(0);
    filled = 0;
    onDocument(done, bytes);
  };

  return (chunk) => {
    let rest = chunk;
    for (;;) {
      if (head === null) {
        start = Buffer.concat([start, rest]);
        if (start.length < 4) return;
        const length = start.readUInt32BE();
        if (length > longestHead) throw new RangeError(`a head of ${length} bytes`);
        if (start.length < 4 + length) return;
        head = JSON.parse(start.toString('utf8', 4, 4 + length)) as Head;
        if (head.size > largestBody) throw new RangeError(`a body of ${head.size} bytes`);
        body = new Uint8Array(head.size);
        rest = start.subarray(4 + length);
        start = Buffer.alloc(0);
      }
      const part = rest.subarray(0, body.length - filled);
      body.set(part, filled);
      filled += part.length;
      rest = rest.subarray(part.length);
      if (filled < body.length) return;
      finish();
      if (rest.length === 0) return;
    }
  };
}
