/**
 * A head and a body that is there whole, in one write where that is cheaper. First users: the endpoint of MCP and the way to a server
 * behind this one. Must not know what is sent.
 */
import type { OutgoingMessage } from 'node:http';

/** As long as what node writes without asking for memory. Longer ones are not worth a copy. Bytes. */
const shortBody = 16 * 1024;

/** Ends `message` with `body`: of bytes apart from the head, node would gather the two for each write. */
export function endAtOnce(message: OutgoingMessage, body: string | Buffer): void {
  // Each byte is one character of latin1 and goes out as that byte, whatever the body is written in.
  if (typeof body !== 'string' && body.length <= shortBody) message.end(body.toString('latin1'), 'latin1');
  else message.end(body);
}
