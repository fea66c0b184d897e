/**
 * One address in front of several servers, as an operator has: each connection goes to the next server that takes it. It passes bytes
 * and knows no HTTP, so that a server that dies cuts exactly the connections that it had.
 */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Balancer {
  readonly origin: string;
  readonly port: number;
  close(): Promise<void>;
}

/** Servers that are not there are passed over; with none there the connection is ended. */
export async function startBalancer(ports: readonly number[]): Promise<Balancer> {
  const open = new Set<Socket>();
  let next = 0;

  function join(near: Socket, far: Socket): void {
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      one.setNoDelay(true);
      one.on('error', () => {}).on('close', () => other.destroy());
      one.pipe(other);
    }
  }

  function reach(near: Socket, tries: number): void {
    if (tries === 0) {
      near.destroy();
      return;
    }
    const far = connect(ports[next % ports.length] as number, '127.0.0.1');
    next += 1;
    const another = () => reach(near, tries - 1);
    far.once('error', another).once('connect', () => {
      far.off('error', another);
      join(near, far);
    });
  }

  const server = createServer((near) => {
    open.add(near);
    near.on('error', () => {}).on('close', () => open.delete(near));
    reach(near, ports.length);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    origin: `http://127.0.0.1:${port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of open) socket.destroy();
      }),
  };
}
