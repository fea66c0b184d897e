/**
 * Sends a head and a complete body in one write if that is cheaper. First users: the endpoint of MCP and the way to a server behind this one. Must
 * not know what is sent.
 */
import type { OutgoingMessage } from 'node:http';

/** The length that node writes without allocating. Copying longer bodies does not pay. Bytes. */
const shortBody = 16 * 1024;

/** Ends `message` with `body`: with separate bytes node would join the two for each write. */
export function endAtOnce(message: OutgoingMessage, body: string | Buffer): void {
  // Each byte is one character of latin1 and goes out as that byte, whatever the body is written in.
  if (typeof body !== 'string' && body.length <= shortBody) message.end(body.toString('latin1'), 'latin1');
  else message.end(body);
}
