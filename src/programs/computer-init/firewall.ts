/** The firewall inside of a computer's container, as nftables reads it: out to public addresses, in nothing but answers. Pure. */
import { isIPv4, isIPv6 } from 'node:net';
import { public6, refused4, refused6 } from '../../kit/egress/refused-ranges.ts';
import { refusedSamples } from './protocol.ts';

interface Firewall {
  /** Refused besides what is not public. */
  readonly refuse: readonly string[];
  /** Name servers, which are asked on port 53 wherever they are. */
  readonly servers: readonly string[];
  /** The only user that may reach the cloud, and where that is; null: nobody does. */
  readonly way: { readonly uid: number; readonly addresses: readonly string[]; readonly port: number } | null;
  /** Nothing is reached but over that way. */
  readonly closed: boolean;
}

export function rulesFor({ refuse, servers, way, closed }: Firewall): string {
  const only = way === null ? '' : `meta skuid ${way.uid} `;
  const asks = closed ? only : '';
  const cloud = (family: string, all: readonly string[]) =>
    all.map((address) => `${only}${family} daddr ${address} tcp dport ${way?.port} accept\n`).join('');
  const set = (name: string, type: string, elements: readonly string[]) =>
    `set ${name} { type ${type}; flags interval; auto-merge; ${elements.length === 0 ? '' : `elements = { ${elements.join(', ')} };`} }`;
  return `table inet gantry {
${set('refused4', 'ipv4_addr', [...refused4, ...refuse.filter(isIPv4)])}
${set('refused6', 'ipv6_addr', [...refused6, ...refuse.filter(isIPv6)])}
${set('names4', 'ipv4_addr', servers.filter(isIPv4))}
${set('names6', 'ipv6_addr', servers.filter(isIPv6))}
chain refused {
counter
meta l4proto tcp reject with tcp reset
reject
}
chain out {
type filter hook output priority filter; policy drop;
oifname "lo" accept
ct state established,related accept
${asks}ip daddr @names4 meta l4proto { tcp, udp } th dport 53 accept
${asks}ip6 daddr @names6 meta l4proto { tcp, udp } th dport 53 accept
icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-solicit } accept
${cloud('ip', way?.addresses.filter(isIPv4) ?? [])}${cloud('ip6', way?.addresses.filter(isIPv6) ?? [])}${closed ? 'goto refused\n' : ''}ip daddr @refused4 goto refused
ip6 daddr != ${public6} goto refused
ip6 daddr @refused6 goto refused
tcp dport 25 goto refused
accept
}
chain in {
type filter hook input priority filter; policy drop;
iifname "lo" accept
ct state established,related accept
icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert, nd-router-advert } accept
}
}
`;
}

export function nameServersIn(resolvConf: string): string[] {
  const found = resolvConf.matchAll(/^nameserver\s+(\S+)/gm);
  return [...found].flatMap(([, address = '']) => (isIPv4(address) || isIPv6(address) ? [address] : []));
}

/** What must be refused from inside. The name servers' own addresses are, too, except for questions. */
export function samplesOf(refuse: readonly string[], servers: readonly string[]): string[] {
  const private4 = servers.filter((address) => /^(?:10|172\.(?:1[6-9]|2\d|3[01])|192\.168)\./.test(address));
  return [...new Set([...refusedSamples, ...private4, ...refuse])];
}
