/**
 * Run as a program in a network of its own: what connects to a port of its 127.0.0.1 reaches a Unix socket, which the network does not hide. Prints
 * one line when it is ready.
 */
import { connect, createServer } from 'node:net';

const [port, socket] = process.argv.slice(2);
if (port === undefined || socket === undefined) throw new Error('Give a port and a socket.');

createServer((near) => {
  const far = connect(socket);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.destroy()).on('close', () => other.destroy());
    one.pipe(other);
  }
}).listen(Number(port), '127.0.0.1', () => console.log('ready'));
