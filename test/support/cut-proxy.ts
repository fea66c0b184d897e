/** A TCP proxy that cuts connections after a number of bytes towards the client. It never changes or reorders what it passes. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { pipeline } from 'node:stream';

export interface CutProxyOptions {
  readonly target: { readonly host: string; readonly port: number };
  /** Asked for each connection: cut after so many bytes from the target, or never (null). 0: before anything passes either way. */
  readonly cutAfter: (connection: number) => number | null;
}

export interface CutProxy {
  readonly port: number;
  /** Connections cut so far, by plan or by {@link CutProxy.cutAll}. */
  cuts(): number;
  /** Cuts every open connection now. */
  cutAll(): void;
  /** From now on nothing passes and no end learns of it: a half-open connection. New connections pass. */
  holdAll(): void;
  /** From now on what comes from the target arrives so many milliseconds later, in its order. 0: at once. */
  delayBy(ms: number): void;
  close(): Promise<void>;
}

export async function startCutProxy(options: CutProxyOptions): Promise<CutProxy> {
  const open = new Map<Socket, Socket>();
  let connections = 0;
  let cuts = 0;
  let lateMs = 0;

  function cut(client: Socket): void {
    const upstream = open.get(client);
    if (upstream === undefined) return;
    open.delete(client);
    cuts += 1;
    client.resetAndDestroy();
    upstream.destroy();
  }

  const server = createServer((client) => {
    let left = options.cutAfter(connections) ?? Number.POSITIVE_INFINITY;
    connections += 1;
    if (left === 0) {
      cuts += 1;
      client.on('error', () => {}).resetAndDestroy();
      return;
    }
    const upstream = connect(options.target);
    open.set(client, upstream);
    client.setNoDelay(true);
    upstream.setNoDelay(true);
    const pass = (bytes: Buffer) => {
      const passed = bytes.subarray(0, left);
      left -= passed.length;
      if (left > 0) {
        if (!client.write(passed)) upstream.pause();
        return;
      }
      upstream.pause();
      // What was passed must be on its way before the connection is reset; the reset may still overtake it, as in life.
      client.write(passed, () => cut(client));
    };
    upstream.on('data', (bytes: Buffer) => {
      if (lateMs === 0) {
        pass(bytes);
        return;
      }
      upstream.pause();
      setTimeout(() => {
        pass(bytes);
        if (left > 0 && !client.writableNeedDrain) upstream.resume();
      }, lateMs);
    });
    client.on('drain', () => {
      if (left > 0) upstream.resume();
    });
    upstream.on('end', () => client.end());
    pipeline(client, upstream, () => {});
    const forget = () => {
      open.delete(client);
      upstream.destroy();
      client.destroy();
    };
    upstream.on('error', forget);
    client.on('error', forget).on('close', forget);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  return {
    port: (server.address() as AddressInfo).port,
    cuts: () => cuts,
    cutAll: () => {
      for (const client of [...open.keys()]) cut(client);
    },
    delayBy: (ms) => {
      lateMs = ms;
    },
    holdAll: () => {
      for (const [client, upstream] of open) {
        for (const [from, to] of [
          [client, upstream],
          [upstream, client],
        ] as const) {
          from.unpipe(to);
          from.removeAllListeners('data');
          from.removeAllListeners('end');
          from.on('data', () => {});
        }
      }
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const [client, upstream] of open) {
          client.destroy();
          upstream.destroy();
        }
      }),
  };
}
