/**
 * A port of the loopback for a program that has to be told one before it listens. Taken from below the range that the kernel
 * hands out by itself (from 32768 on Linux), so that no other test's server or connection comes first.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(12_000, 32_000);
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer();
      server.once('error', () => resolve(false));
      server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
