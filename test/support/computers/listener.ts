/** Somebody who listens on every address of a network namespace, and says hello. */
import { createServer } from 'node:net';

for (const port of [25, 8080, 8053]) {
  for (const host of ['0.0.0.0', '::']) {
    const server = createServer((socket) => {
      socket.on('error', () => {});
      socket.end('hello');
    });
    server.on('error', () => {});
    server.listen({ port, host, ipv6Only: host === '::' });
  }
}
