/** Listens on every address of a network namespace and serves a page to each caller; prints each datagram with its source. */
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

const everywhere = [25, 8080].flatMap((port) => [
  ['0.0.0.0', port],
  ['::', port],
]) as [string, number][];
const others = process.argv.slice(2).map((text): [string, number] => {
  const [host = '', port] = text.split(' ');
  return [host, Number(port)];
});
const page = 'HTTP/1.0 200 OK\r\ncontent-type: text/html\r\n\r\n<!doctype html><title>Hello</title><h1>Hello</h1>';
const tcp = [...everywhere, ...others].map(
  ([host, port]) =>
    new Promise<void>((resolve) => {
      const server = createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.end(page));
      });
      server.listen({ port, host, ipv6Only: host === '::' }, resolve);
    }),
);
const udp = (['udp4', 'udp6'] as const).map(
  (type) =>
    new Promise<void>((resolve) => {
      const socket = createSocket({ type, ipv6Only: type === 'udp6' });
      socket.on('message', (message, { address }) => console.log(`${address} ${message}`));
      socket.bind(8080, resolve);
    }),
);
await Promise.all([...tcp, ...udp]);
console.log('ready');
