/**
 * The client address of a request, for limits and for lists of sign-ins. A client can write anything into X-Forwarded-For: it counts only as far as
 * trusted proxies have added to it. First user: the cloud API. Must not know routes.
 */
import type { IncomingMessage } from 'node:http';
import ipaddr from 'ipaddr.js';
import { AppError } from '../../contracts/common/errors.ts';

export type AddressOf = (request: IncomingMessage) => string;

/** A Unix socket has no address: all its callers count as one. */
const noAddress = 'socket';

/** `trusted`: addresses and networks (`10.0.0.0/8`) of the proxies in front. Throws `usage` for any other text. */
export function createAddressOf(trusted: readonly string[] = []): AddressOf {
  const networks = trusted.map(networkOf);
  const isTrusted = (address: string) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return networks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits));
  };
  return (request) => {
    let address = request.socket.remoteAddress ?? noAddress;
    if (networks.length === 0 || !isTrusted(address)) return address;
    // Each proxy appends the address it heard from: read from the end, the first that is no proxy of ours is the client.
    const claimed = String(request.headers['x-forwarded-for'] ?? '').split(',');
    for (const claim of claimed.reverse()) {
      const hop = claim.trim();
      if (!ipaddr.isValid(hop)) break;
      address = ipaddr.process(hop).toString();
      if (!isTrusted(address)) break;
    }
    return address;
  };
}

/**
 * The unit that a limit counts: the network for IPv6 (RFC 4291, 2.5.4), because a client with one address has all of it; the address for IPv4, in
 * either notation.
 */
export function countedAs(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed instanceof ipaddr.IPv6 ? parsed.parts.slice(0, 4).join(':') : parsed.toString();
}

function networkOf(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  try {
    if (text.includes('/')) return ipaddr.parseCIDR(text);
    const address = ipaddr.process(text);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch (cause) {
    throw new AppError(
      'usage',
      `${JSON.stringify(text)} is neither an address nor a network.`,
      'Name the proxy, such as 10.0.0.7, or its network, such as 10.0.0.0/8.',
      { cause },
    );
  }
}
