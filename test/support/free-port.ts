/**
 * A port of the loopback for a program that has to be told one before it listens. Taken from below the range that the kernel
 * hands out by itself (from 32768 on Linux), so that no other test's server or connection comes first.
 */
import { createServer } from 'node:net';

const first = 12_000;
const count = 20_000;
/** Test files run beside each other in processes of their own. Each begins elsewhere (293 and 20,000 share no factor) and gives no port twice. */
let next = (process.pid * 293) % count;

export async function freePort(): Promise<number> {
  for (;;) {
    const port = first + next;
    next = (next + 1) % count;
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
