/** A way to the API server that can be cut and held. Passes bytes on, and must not know what they say. */
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** `kubeconfig`: as the given one, but by the relay; written to `file`. */
export async function openRelay(kubeconfig: string, file: string) {
  const config = JSON.parse(readFileSync(kubeconfig, 'utf8')) as { clusters: { cluster: { server: string } }[] };
  const { cluster } = config.clusters[0]!;
  const to = new URL(cluster.server);
  const open = new Set<Socket>();
  let [held, cuts] = [false, 0];
  const server = createServer((near) => {
    const far = connect(Number(to.port), to.hostname);
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      open.add(one);
      one
        .on('error', () => {})
        .on('close', () => {
          open.delete(one);
          other.destroy();
        });
      one.pipe(other);
      if (held) one.pause();
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cluster.server = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
  return {
    kubeconfig: file,
    connections: () => open.size / 2,
    cuts: () => cuts,
    cut() {
      cuts += 1;
      for (const socket of open) socket.destroy();
    },
    /** Nothing passes until it is released. */
    hold() {
      held = true;
      for (const socket of open) socket.pause();
    },
    release() {
      held = false;
      for (const socket of open) socket.resume();
    },
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
