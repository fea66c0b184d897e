/**
 * A connection to a host by its name, for whoever passes on the bytes of others: each address that the name leads to is checked before anything is
 * connected, and the connected socket once more. Must not know who asked, or what is sent.
 */
import { lookup as systemLookup } from 'node:dns';
import { connect, isIP, type Socket } from 'node:net';
import { AppError } from '../../contracts/common/errors.ts';
import { isPublic } from './addresses.ts';
import { checkedLookup, type Lookup } from './lookup.ts';

interface DialOrder {
  readonly host: string;
  readonly port: number;
  /** Addresses that are not public are allowed, because a rule names this host. */
  readonly isPrivateAllowed: boolean;
  readonly lookup?: Lookup | undefined;
}

const connectMs = 30_000;

/** Rejects with `refused` for an address that is not public, and with `transport` if nothing answers. The other side may end its half first. */
export function dial({ host, port, isPrivateAllowed, lookup = systemLookup as Lookup }: DialOrder): Promise<Socket> {
  const may = (address: string) => isPrivateAllowed || isPublic(address);
  if (isIP(host) !== 0 && !may(host)) return Promise.reject(notPublic(host));
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port,
      allowHalfOpen: true,
      autoSelectFamily: true,
      noDelay: true,
      lookup: checkedLookup(lookup, may, notPublic) as never,
    });
    const fail = (cause: Error) => {
      socket.destroy();
      const is = cause instanceof AppError;
      const fact = `${host} could not be reached: ${(cause as NodeJS.ErrnoException).code ?? cause.message}.`;
      reject(is ? cause : new AppError('transport', fact, 'Try again later.', { cause }));
    };
    const late = () => fail(new Error(`nothing answered within ${connectMs / 1000} s`));
    socket.setTimeout(connectMs, late);
    // It stays: what happens to the socket later is heard at its end.
    socket.on('error', fail);
    socket.once('connect', () => {
      socket.setTimeout(0, late);
      if (may(socket.remoteAddress ?? '')) resolve(socket);
      else fail(notPublic(host));
    });
  });
}

function notPublic(host: string): AppError {
  const fact = `${host} leads to an address that is not public.`;
  return new AppError('refused', fact, 'A rule in .gantry/policy.yaml that names this host can allow it.');
}
