/** A connection to a test's database that can be closed, and that can be cut when it sees a given word. */
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export interface PostgresWay {
  readonly url: string;
  /** Cuts what is open; who comes is refused. */
  close(): void;
  reopen(): Promise<void>;
  /** Passes on what has this word in it, and cuts before it is answered; once. */
  cutAt(word: string): void;
}

export async function openWay(url: string): Promise<PostgresWay> {
  const path = `${new URL(url).searchParams.get('host')}/.s.PGSQL.5432`;
  const sockets = new Set<Socket>();
  let cutAt: string | null = null;
  const listener = createServer((near) => {
    const far = connect(path);
    const end = () => {
      near.destroy();
      far.destroy();
    };
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', end).on('close', () => {
        sockets.delete(socket);
        end();
      });
    }
    near.on('data', (bytes) => {
      if (cutAt !== null && bytes.includes(cutAt)) {
        cutAt = null;
        // What was said arrives; that it arrived is never heard.
        far.write(bytes);
        near.destroy();
      } else far.write(bytes);
    });
    far.on('data', (bytes) => near.write(bytes));
  });
  const listen = (port: number) => new Promise<void>((resolve) => listener.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = listener.address() as { port: number };
  const close = () => {
    listener.close();
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(close);
  const through = new URL(url);
  through.searchParams.delete('host');
  through.hostname = '127.0.0.1';
  through.port = String(port);
  return {
    url: through.href.replaceAll('+', '%20'),
    close,
    reopen: () => listen(port),
    cutAt: (word) => {
      cutAt = word;
    },
  };
}
