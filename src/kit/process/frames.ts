/**
 * Frames between a program and the process that drives it, over its stdin and stdout: `u32 length · head (JSON) · as many bytes as the head says`.
 * First user: the executor; second: the conversion program. Must not know what the heads say.
 */

/** The head and its body, as pieces: large bodies are not copied. */
export function frames(head: { readonly size: number }, body?: Uint8Array): Uint8Array[] {
  const json = Buffer.from(JSON.stringify(head));
  const start = Buffer.allocUnsafe(4 + json.length);
  start.writeUInt32BE(json.length);
  json.copy(start, 4);
  return body === undefined ? [start] : [start, body];
}

/**
 * Takes bytes in any portions and calls `onFrame` with each complete frame. The body is gathered in one buffer of its own. Throws `RangeError` for a
 * head or a body over its limit (bytes) and `SyntaxError` for a head that is not JSON: the stream is unusable after that.
 */
export function createFrameReader<Head extends { readonly size: number }>(
  limits: { readonly head: number; readonly body: number },
  onFrame: (head: Head, body: Uint8Array) => void,
): (chunk: Uint8Array) => void {
  let start = Buffer.alloc(0);
  let head: Head | null = null;
  let body = new Uint8Array(0);
  let filled = 0;

  return (chunk) => {
    let rest: Uint8Array = chunk;
    for (;;) {
      if (head === null) {
        start = start.length === 0 ? Buffer.from(rest) : Buffer.concat([start, rest]);
        if (start.length < 4) return;
        const length = start.readUInt32BE();
        if (length > limits.head) throw new RangeError(`a head of ${length} bytes`);
        if (start.length < 4 + length) return;
        head = JSON.parse(start.toString('utf8', 4, 4 + length)) as Head;
        if (!(head.size >= 0 && head.size <= limits.body)) throw new RangeError(`a body of ${head.size} bytes`);
        body = new Uint8Array(head.size);
        filled = 0;
        rest = start.subarray(4 + length);
        start = Buffer.alloc(0);
      }
      const part = rest.subarray(0, body.length - filled);
      body.set(part, filled);
      filled += part.length;
      rest = rest.subarray(part.length);
      if (filled < body.length) return;
      const done = head;
      head = null;
      onFrame(done, body);
      if (rest.length === 0) return;
    }
  };
}
