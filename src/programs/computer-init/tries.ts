/** What comes of connections to addresses that must be refused. Must not know what refuses. */
import { connect } from 'node:net';
import { noWayWords, refusedWord } from './protocol.ts';

/** Milliseconds. A refused connection is refused at once. */
const within = 2_000;

/** All at once: what comes of a connection to each address. */
export async function tryAddresses(addresses: readonly string[]): Promise<Readonly<Record<string, string>>> {
  return Object.fromEntries(
    await Promise.all(addresses.map(async (address) => [address, await attempt(address)] as const)),
  );
}

/** The first address that was reached, or whose packets went out, with what came; null: each was refused. */
export const wrongIn = (came: Readonly<Record<string, string>>): readonly [string, string] | null =>
  Object.entries(came).find(([, what]) => what !== refusedWord && !noWayWords.has(what)) ?? null;

export const reached = async (addresses: readonly string[]) => wrongIn(await tryAddresses(addresses));

function attempt(host: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect({ host, port: 80 });
    const done = (what: string) => {
      clearTimeout(late);
      socket.destroy();
      resolve(what);
    };
    const late = setTimeout(done, within, 'silence');
    socket.once('connect', () => done('a connection'));
    socket.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
  });
}
