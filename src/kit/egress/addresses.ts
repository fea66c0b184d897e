/** Which addresses are on the public internet. Pure. Must not know names or sockets. */
import ipaddr from 'ipaddr.js';

/** IANA has assigned only global unicast in IPv6; everything else wraps, tunnels or stays local. */
const global6: [ipaddr.IPv6, number] = [ipaddr.IPv6.parse('2000::'), 3];

/** False for loopback, private, link-local, shared, multicast, reserved, and for any form that wraps an IPv4 address. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.parse(address);
  if (parsed.range() !== 'unicast') return false;
  return parsed instanceof ipaddr.IPv4 || parsed.match(global6);
}

/** `10.0.0.0/8`, `fd00::/8`; null for an invalid range. */
export function parseRange(text: string): ((address: string) => boolean) | null {
  if (!ipaddr.isValidCIDR(text)) return null;
  const [base, bits] = ipaddr.parseCIDR(text);
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return parsed.kind() === base.kind() && parsed.match(base, bits);
  };
}
