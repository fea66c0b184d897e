/**
 * The only way out of the network in which the play's Docker runs, for builds that fetch packages: a proxy outside, which listens on a Unix
 * socket, and a door inside, which passes each connection to it.
 */

import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server as HttpServer, request } from 'node:http';
import { connect, createServer as createDoor, type Server } from 'node:net';

/** Outside: CONNECT for https, whole addresses for http. */
export function listenOutside(socket: string): Promise<HttpServer> {
  const proxy = createServer((asked, answer) => {
    const passed = request(asked.url ?? '', { method: asked.method, headers: asked.headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    passed.on('error', (error) => answer.headersSent || answer.writeHead(502).end(error.message));
    asked.pipe(passed);
  });
  proxy.on('connect', (asked, near, head) => {
    const { hostname, port } = new URL(`http://${asked.url}`);
    const far = connect(Number(port) || 80, hostname, () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n');
      far.write(head);
      far.pipe(near).pipe(far);
    });
    far.on('error', () => near.destroy());
    near.on('error', () => far.destroy());
  });
  return new Promise((resolve) => proxy.listen(socket, () => resolve(proxy)));
}

/** Inside: on every address, because containers come from their bridge. */
export function openDoor(socket: string, port: number): Promise<Server> {
  const door = createDoor((near) => {
    const far = connect(socket);
    near.pipe(far).pipe(near);
    far.on('error', () => near.destroy());
    near.on('error', () => far.destroy());
  });
  return new Promise((resolve) => door.listen(port, () => resolve(door)));
}

/** A Unix socket that passes each connection to another one, which may be made anew behind it. */
export function holdSocket(path: string, to: string): Promise<Server> {
  rmSync(path, { force: true });
  // Streams of an engine are closed on one side before the other.
  const held = createDoor({ allowHalfOpen: true }, (near) => {
    const far = connect({ path: to, allowHalfOpen: true });
    near.pipe(far).pipe(near);
    far.on('error', () => near.destroy());
    near.on('error', () => far.destroy());
  });
  return new Promise((resolve) =>
    held.listen(path, () => {
      chmodSync(path, 0o660);
      resolve(held);
    }),
  );
}
