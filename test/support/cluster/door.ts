/** Run as a program in a network namespace: a Unix socket, which no namespace hides, that passes each connection to an address of that network. */
import { connect, createServer } from 'node:net';

const [socket, host, port] = process.argv.slice(2);
if (socket === undefined || host === undefined || port === undefined)
  throw new Error('Give a socket, a host and a port.');

createServer((near) => {
  const far = connect(Number(port), host);
  for (const [one, other] of [
    [near, far],
    [far, near],
  ] as const) {
    one.on('error', () => other.destroy()).on('close', () => other.destroy());
    one.pipe(other);
  }
}).listen(socket);
