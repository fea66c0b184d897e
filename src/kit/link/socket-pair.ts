/**
 * Two ends of one real socket, in this process. Core HTTP/2 needs a native handle: over a stream made in JavaScript it throws where nobody can catch
 * it when the carrier drops. Nobody else can connect: the socket is in a 0700 folder (Windows: a pipe whose name cannot be guessed), is removed once
 * the pair is connected, and only an end that knows the secret is accepted. First user: the carrier. Must not know what runs over it.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

type SocketPair = readonly [Socket, Socket];

const wordBytes = 32;

/** Rejects if no socket can be made; leaves nothing behind either way. */
export async function createSocketPair(): Promise<SocketPair> {
  const word = randomBytes(wordBytes);
  const place = createPlace();
  const server = createServer({ noDelay: true });
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(place.path, resolve);
    });
    return await meet(place.path, word, (taken) => server.on('connection', taken));
  } finally {
    server.close();
    place.remove();
  }
}

function meet(
  path: string,
  word: Buffer,
  onConnection: (taken: (socket: Socket) => void) => void,
): Promise<SocketPair> {
  return new Promise((resolve, reject) => {
    const own = connect(path, () => own.write(word));
    own.once('error', reject);
    onConnection((socket) => {
      const drop = () => void socket.destroy();
      socket.once('error', drop);
      const look = () => {
        const said = socket.read(wordBytes) as Buffer | null;
        if (said === null) return;
        socket.off('readable', look);
        if (said.length !== wordBytes || !timingSafeEqual(said, word)) return drop();
        socket.off('error', drop);
        own.off('error', reject);
        resolve([own, socket]);
      };
      socket.on('readable', look);
    });
  });
}

function createPlace(): { readonly path: string; remove(): void } {
  if (process.platform === 'win32') {
    return { path: `\\\\.\\pipe\\gantry-${randomBytes(16).toString('hex')}`, remove() {} };
  }
  const folder = mkdtempSync(join(tmpdir(), 'gantry-'));
  return { path: join(folder, 'link'), remove: () => rmSync(folder, { recursive: true, force: true }) };
}
