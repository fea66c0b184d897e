/** Reads the line with which a connection begins, before it is handed on. First user: offers; second: the computer host. */
import type { Duplex } from 'node:stream';

/** Null: the connection closed before, or the line is longer than that many bytes. `rest` is what followed it already. */
export function readFirstLine(
  connection: Duplex,
  longest: number,
): Promise<{ readonly line: string; readonly rest: Buffer } | null> {
  return new Promise((resolve) => {
    let read = Buffer.alloc(0);
    const done = (found: { readonly line: string; readonly rest: Buffer } | null) => {
      connection.off('readable', look);
      connection.off('close', left);
      resolve(found);
    };
    const left = () => done(null);
    const look = () => {
      for (let chunk = connection.read() as Buffer | null; chunk !== null; chunk = connection.read() as Buffer | null) {
        read = Buffer.concat([read, chunk]);
      }
      const end = read.indexOf(0x0a);
      if (end !== -1) done({ line: read.toString('utf8', 0, end), rest: read.subarray(end + 1) });
      else if (read.length > longest) done(null);
    };
    connection.on('close', left);
    connection.on('readable', look);
  });
}
