/**
 * Where a browser may go. Addresses are checked as written before a navigation starts, and again by what they resolve to before
 * the executor connects, because a name can resolve to a private address. Gantry's own endpoints are never allowed. Must not know
 * calls or approvals.
 */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { isPublic } from '../../kit/egress/addresses.ts';
import type { HostQuestion } from '../../programs/executor/protocol.ts';
import type { Policy, PolicyAction } from '../policy/index.ts';

export interface Destination {
  /** As rules name it: with its port unless that is the scheme's own. */
  readonly host: string;
  readonly origin: string;
  /** Only from its text. */
  readonly privateHost: boolean;
}

type Navigation =
  | { readonly kind: 'go'; readonly url: string; readonly to: Destination | null }
  | { readonly kind: 'refused'; readonly why: string };

export interface Hosts {
  /** The input of `navigate`: a whole address, one without its scheme, or a move in the history. */
  navigation(given: string): Navigation;
  judge(question: HostQuestion, opened: (host: string) => boolean): { readonly allow: boolean; readonly why: string };
}

const moves = new Set(['back', 'forward', 'reload']);
/** Names that lead to this computer or its network by definition. */
const localName = /(?:^|\.)(?:localhost|local|internal|home\.arpa)$/;
const defaultPorts = new Set([80, 443]);
const notOpened = 'it is not a public address; a rule in .gantry/policy.yaml that names this host can allow it';
const own = 'Gantry itself listens there';

export function createHosts({
  policy,
  ownPorts,
  ownAddresses = interfaceAddresses,
}: {
  readonly policy: Pick<Policy, 'decide'>;
  readonly ownPorts: () => readonly number[];
  /** Of this computer; default: those of its interfaces. */
  readonly ownAddresses?: () => readonly string[];
}): Hosts {
  const isOwn = (addresses: readonly string[], port: number) =>
    ownPorts().includes(port) && addresses.some((address) => isHere(address, ownAddresses()));

  return {
    navigation(given) {
      const text = given.trim();
      if (moves.has(text) || text === 'about:blank') return { kind: 'go', url: text, to: null };
      const url = wholeAddress(text);
      if (url === null) return { kind: 'refused', why: 'only http and https addresses can be opened' };
      const to = destinationOf(url)!;
      const name = bareName(url);
      const here = ipaddr.isValid(name) ? [name] : localName.test(name) ? ['127.0.0.1'] : [];
      if (isOwn(here, portOf(url))) return { kind: 'refused', why: own };
      return { kind: 'go', url: url.href, to };
    },
    judge({ host, port, addresses }, opened) {
      const name = defaultPorts.has(port) ? host : `${host}:${port}`;
      if (addresses.length === 0) return { allow: false, why: `${host} has no address` };
      if (isOwn(addresses, port)) return { allow: false, why: own };
      const privateHost = !addresses.every(isPublic);
      const action: PolicyAction = { tool: 'browser', member: 'navigate', bot: null, host: name };
      const { verdict, rule } = policy.decide({ ...action, ...(privateHost ? { privateHost: true } : {}) }, null);
      if (verdict === 'deny')
        return { allow: false, why: privateHost && rule.startsWith('default') ? notOpened : rule };
      const asks = privateHost && verdict === 'ask' && !opened(name);
      return asks ? { allow: false, why: `${rule}; nobody was asked about it` } : { allow: true, why: rule };
    },
  };
}

/** Null where the address names no site: `about:blank`, an error page. */
export function destinationOf(given: string | URL): Destination | null {
  if (!URL.canParse(given)) return null;
  const url = new URL(given);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  const name = bareName(url);
  return {
    host: url.port === '' ? name : `${name}:${url.port}`,
    origin: url.origin,
    privateHost: ipaddr.isValid(name) ? !isPublic(name) : localName.test(name),
  };
}

/** `example.org/x` and `localhost:5173` have no scheme; `https` is meant. Null for every other scheme. */
function wholeAddress(text: string): URL | null {
  const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase();
  const isPlace = scheme === undefined || /^[^/?#\s]+:\d+(?:[/?#]|$)/.test(text);
  const whole = scheme === 'http' || scheme === 'https' ? text : isPlace ? `https://${text}` : null;
  return whole !== null && URL.canParse(whole) ? new URL(whole) : null;
}

function bareName({ hostname }: URL): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.*)\]$/, '$1')
    .replace(/\.$/, '');
}

function portOf({ port, protocol }: URL): number {
  return port === '' ? (protocol === 'http:' ? 80 : 443) : Number(port);
}

function isHere(address: string, addresses: readonly string[]): boolean {
  if (!ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  const range = parsed.range();
  if (range === 'loopback' || range === 'unspecified') return true;
  const text = parsed.toNormalizedString();
  return addresses.some((one) => ipaddr.isValid(one) && ipaddr.process(one).toNormalizedString() === text);
}

function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map(({ address }) => address.split('%')[0]!));
}
