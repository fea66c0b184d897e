/** The one form in which a host is compared, shown and asked about, however it was written. Pure. Must not know addresses' ranges. */
import { isIPv6 } from 'node:net';

const maxName = 253;
const name = /^(?!.{254})[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_-]{1,63})*$/;

/**
 * In lower case and ASCII, without the dot at its end and without brackets; an address in any form that a program reads as one (`0x7f.1`,
 * `2130706433`) as the plain address. Null: it is no host.
 */
export function hostNameOf(text: string): string | null {
  // What a URL would read as something else than its host.
  if (text.length > 4 * maxName || /[\s\p{Cc}/\\?#@%]/u.test(text)) return null;
  const inside = text.startsWith('[') && text.endsWith(']') ? text.slice(1, -1) : text;
  if (inside.includes(':')) return isIPv6(inside) ? new URL(`http://[${inside}]/`).hostname.slice(1, -1) : null;
  if (inside !== text || !URL.canParse(`http://${text}/`)) return null;
  const host = new URL(`http://${text}/`).hostname.replace(/\.$/, '');
  return name.test(host) ? host : null;
}

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** `example.org:443`, `[::1]:80`; the port may be missing where there is a default. Null: it is no such thing. */
export function hostAndPortOf(text: string, defaultPort?: number): HostAndPort | null {
  const [, before = '', digits] = /^(\[[^\]]*\]|[^:]*)(?::(\d{1,5}))?$/.exec(text) ?? [];
  const host = hostNameOf(before);
  const port = digits === undefined ? defaultPort : Number(digits);
  return host === null || port === undefined || port < 1 || port > 65_535 ? null : { host, port };
}

/** As rules and questions name it: `example.org:443`, `[::1]:80`. */
export function showHostAndPort({ host, port }: HostAndPort): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}
