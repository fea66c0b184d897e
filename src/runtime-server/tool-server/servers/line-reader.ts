/**
 * Lines of a program's stdout, each of a bounded length: of a longer one only its ends are kept, so that 50 MB cost neither memory
 * nor the loop. Must not know JSON.
 */
export interface LongLine {
  readonly length: number;
  readonly head: string;
  readonly tail: string;
}

const endBytes = 256;

/** Give it each chunk as it comes. */
export function createLineReader({
  maxLength,
  onLine,
  onLong,
}: {
  /** Bytes. */
  readonly maxLength: number;
  readonly onLine: (line: string) => void;
  readonly onLong: (line: LongLine) => void;
}): (chunk: Buffer) => void {
  let parts: Buffer[] = [];
  let length = 0;
  let head = '';
  let tail = Buffer.alloc(0);

  function take(part: Buffer): void {
    length += part.length;
    if (length <= maxLength) return void parts.push(part);
    if (head === '') {
      head = Buffer.concat([...parts, part])
        .subarray(0, endBytes)
        .toString('latin1');
      parts = [];
    }
    tail = Buffer.concat([tail, part.subarray(-endBytes)]).subarray(-endBytes);
  }

  function end(): void {
    const line = { length, head, tail: tail.toString('latin1') };
    const text = length <= maxLength ? Buffer.concat(parts).toString('utf8') : null;
    parts = [];
    length = 0;
    head = '';
    tail = Buffer.alloc(0);
    if (text === null) onLong(line);
    else if (text.trim() !== '') onLine(text);
  }

  return (chunk) => {
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      take(chunk.subarray(from, at));
      end();
      from = at + 1;
    }
    if (from < chunk.length) take(chunk.subarray(from));
  };
}
