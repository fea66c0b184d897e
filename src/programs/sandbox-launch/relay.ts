/** Joins a connection of the sandbox with a new one to the socket outside. Reads nothing of what goes through. */
import { connect, type Socket } from 'node:net';
import type { FirstLine } from '../../kit/sandbox/launch-order.ts';

/** For a program that asks a proxy: a plain answer where nobody is outside. */
const nobody = 'Gantry is not running, so nothing is reached from this sandbox. Start Gantry, then try again.\n';
const noProxy = [
  'HTTP/1.1 503 Service Unavailable',
  'content-type: text/plain; charset=utf-8',
  `content-length: ${Buffer.byteLength(nobody)}`,
  'connection: close',
  '',
  nobody,
].join('\r\n');

/** `inside` must be paused, with half-open allowed. */
export function relay(inside: Socket, socket: string, line: FirstLine): void {
  const outside = connect({ path: socket, allowHalfOpen: true });
  let reached = false;
  outside.once('connect', () => {
    reached = true;
    outside.write(`${JSON.stringify(line)}\n`);
    inside.pipe(outside);
    outside.pipe(inside);
  });
  // A half that ended is passed on by `pipe`. A fault outside is one inside, too, so that what was cut does not look whole; a Unix socket tells of few.
  inside.on('error', () => outside.destroy());
  outside.on('error', () => {
    if (reached || line.way !== 'proxy') inside.resetAndDestroy();
    // What is left unread would cut the answer off.
    else inside.resume().end(noProxy);
  });
  inside.once('close', () => outside.end());
  outside.once('close', () => inside.end());
}
