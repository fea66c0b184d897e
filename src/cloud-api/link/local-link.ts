/** The link of the embedded cloud API: this computer's own socket, up for as long as the program runs. Must not know routes. */
import { connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { AppError } from '../../contracts/common/errors.ts';
import type { Link } from './link.ts';

export function createLocalLink({
  computerId,
  path,
  token,
  since,
}: {
  readonly computerId: string;
  /** The runtime's socket. */
  readonly path: string;
  /** The bearer that the runtime accepts on it. */
  readonly token: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}): Link {
  const isHere = (id: string) => id === computerId;
  return {
    open(id, side) {
      if (isHere(id) && side === 'engine') return openSocket(path);
      const fact = isHere(id) ? 'This computer serves no peers here.' : `The computer ${id} is not linked here.`;
      return Promise.reject(new AppError('transport', fact, 'Pair it with a cloud, and ask there.'));
    },
    credential: (id) => (isHere(id) ? token : null),
    state: (id) => (isHere(id) ? { linked: true, since } : { linked: false, since: 0 }),
    untilLinked: async (id) => isHere(id),
    onChange: () => () => {},
  };
}

function openSocket(path: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const socket = connect(path, () => {
      socket.off('error', reject);
      resolve(socket);
    });
    socket.once('error', reject);
  });
}
