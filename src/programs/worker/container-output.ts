/** Separates the two streams that an engine sends over one connection. Pure but for the streams. */
import type { PassThrough } from 'node:stream';

/** A frame: the stream's number, three zeros, the length in four bytes, then so many bytes. */
const headLength = 8;
const errorStream = 2;

/**
 * dockerode's own copies all that it has not read yet for each frame, which a command that writes byte by byte makes slow. What is read is never
 * held back: a frame's bytes are passed on as they come.
 */
export function readFrames(
  from: NodeJS.ReadableStream,
  to: { readonly stdout: PassThrough; readonly stderr: PassThrough },
): void {
  const head = Buffer.alloc(headLength);
  let headHas = 0;
  let left = 0;
  from.on('data', (chunk: Buffer) => {
    for (let at = 0; at < chunk.length; ) {
      if (left === 0) {
        const took = chunk.copy(head, headHas, at, at + headLength - headHas);
        headHas += took;
        at += took;
        if (headHas < headLength) return;
        headHas = 0;
        left = head.readUInt32BE(4);
        continue;
      }
      const part = chunk.subarray(at, at + left);
      (head[0] === errorStream ? to.stderr : to.stdout).write(part);
      left -= part.length;
      at += part.length;
    }
  });
  const end = () => {
    to.stdout.end();
    to.stderr.end();
  };
  from.on('end', end).on('close', end).on('error', end);
}
