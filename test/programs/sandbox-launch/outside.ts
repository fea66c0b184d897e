/** Who listens outside of a sandbox with a network of its own: takes its connections by their first line. */
import { chmodSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';
import type { FirstLine } from '../../../src/kit/sandbox/launch-order.ts';

export interface Outside {
  /** First lines, in the order they came. */
  readonly lines: FirstLine[];
  close(): Promise<void>;
}

/** `take` gets the connection at the byte after its first line. */
export async function listenOutside(
  socket: string,
  take: (connection: Socket, line: FirstLine) => void,
): Promise<Outside> {
  const lines: FirstLine[] = [];
  const open = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true }, (connection) => {
    open.add(connection);
    connection.on('close', () => open.delete(connection));
    connection.on('error', () => {});
    let seen = Buffer.alloc(0);
    const read = (piece: Buffer) => {
      seen = Buffer.concat([seen, piece]);
      const end = seen.indexOf('\n');
      if (end < 0) return;
      connection.off('data', read);
      connection.pause();
      const line = JSON.parse(seen.subarray(0, end).toString()) as FirstLine;
      lines.push(line);
      if (end + 1 < seen.length) connection.unshift(seen.subarray(end + 1));
      take(connection, line);
    };
    connection.on('data', read);
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  // A test may let another user's program in.
  chmodSync(socket, 0o777);
  const close = () =>
    new Promise<void>((resolve) => {
      for (const connection of open) connection.destroy();
      server.close(() => resolve());
    });
  onTestFinished(close);
  return { lines, close };
}

/** Answers one HTTP request with its first line as the body. */
export function echoRequest(connection: Socket): void {
  let text = '';
  connection.on('data', (piece: Buffer) => {
    text += piece.toString('latin1');
    if (!text.includes('\r\n\r\n')) return;
    const [first = ''] = text.split('\r\n');
    connection.end(`HTTP/1.1 200 OK\r\ncontent-length: ${first.length}\r\nconnection: close\r\n\r\n${first}`);
  });
  connection.resume();
}
