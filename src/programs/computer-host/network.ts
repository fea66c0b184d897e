/**
 * Each computer's network: a namespace of its own and one cable to this machine, with a range of addresses that nothing else here has.
 * The cable is up only once the firewall knows it. Must not know what runs in a computer.
 */
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import ipaddr from 'ipaddr.js';
import type { Guest } from './firewall.ts';
import type { Names } from './settings.ts';
import { HostError, type Tool } from './tools.ts';

/** Addresses of one computer and of this machine's end of its cable. */
export interface Addresses {
  readonly gateway4: string;
  readonly computer4: string;
  readonly gateway6: string;
  readonly computer6: string;
}

/** Stored, so that running computers keep theirs. */
export interface Ranges {
  /** `10.231.4.0/22` */
  readonly subnet4: string;
  /** `fd12:3456:789a::/48` */
  readonly subnet6: string;
}

export interface Network {
  addresses(slot: number): Addresses;
  guest(slot: number): Guest;
  /** The namespace and the cable with its addresses, still down. */
  make(slot: number): Promise<void>;
  /** Call it once the firewall knows it. */
  connect(slot: number): Promise<void>;
  disconnect(slot: number): Promise<void>;
  isMade(slot: number): boolean;
  remove(slot: number): Promise<void>;
  /** Slots with leftovers. */
  slots(): readonly number[];
  /** Interfaces to the internet. */
  uplinks(): Promise<readonly string[]>;
  /** Whether this machine can reach IPv6 addresses. */
  reaches6(): Promise<boolean>;
  /** Lets this machine forward packets, and keeps the range from being routed elsewhere. */
  open(): Promise<void>;
  close(): Promise<void>;
}

interface NetworkDeps {
  readonly tool: Tool;
  readonly names: Names;
  readonly ranges: Ranges;
  /** null: that of the default routes. */
  readonly uplink: string | null;
}

const namespaces = '/run/netns';

export function createNetwork({ tool, names, ranges, uplink }: NetworkDeps): Network {
  const first4 = ipaddr.IPv4.parse(ranges.subnet4.split('/')[0] as string).toByteArray();
  const first6 = ranges.subnet6.replace(/::\/48$/, '');

  const ipv4 = (offset: number) => {
    const number = first4.reduce((sum, byte) => sum * 256 + byte, 0) + offset;
    return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join('.');
  };
  /** As the kernel writes it, for comparison. */
  const ipv6 = (network: number, host: number) =>
    ipaddr.IPv6.parse(`${first6}:${network.toString(16)}::${host}`).toRFC5952String();
  const addresses = (slot: number): Addresses => ({
    gateway4: ipv4(slot * 4 + 1),
    computer4: ipv4(slot * 4 + 2),
    // Never the first: that is the address of the range's router.
    gateway6: ipv6(slot + 1, 1),
    computer6: ipv6(slot + 1, 2),
  });
  const batch = (lines: readonly string[], namespace?: string) =>
    tool(['ip', ...(namespace === undefined ? [] : ['-n', namespace]), '-batch', '-'], `${lines.join('\n')}\n`);
  const defaults = async (family: '-4' | '-6') =>
    JSON.parse((await tool(['ip', family, '-j', 'route', 'show', 'default'])) || '[]') as { dev?: string }[];

  return {
    addresses,
    guest: (slot) => {
      const { computer4, computer6 } = addresses(slot);
      return { name: names.interfaceOf(slot), address4: computer4, address6: computer6 };
    },
    async make(slot) {
      const [here, there] = [names.interfaceOf(slot), names.namespaceOf(slot)];
      const { gateway4, computer4, gateway6, computer6 } = addresses(slot);
      await batch([
        `netns add ${there}`,
        `link add name ${here} type veth peer name eth0 netns ${there}`,
        `address add ${gateway4}/30 dev ${here}`,
        `address add ${gateway6}/64 dev ${here} nodad`,
      ]);
      setInterface(here);
      await batch(
        [
          'link set lo up',
          `address add ${computer4}/30 dev eth0`,
          `address add ${computer6}/64 dev eth0 nodad`,
          'link set eth0 up',
        ],
        there,
      );
    },
    async connect(slot) {
      const { gateway4, gateway6 } = addresses(slot);
      await tool(['ip', 'link', 'set', names.interfaceOf(slot), 'up']);
      await batch(
        [`route replace default via ${gateway4}`, `route replace default via ${gateway6} dev eth0`],
        names.namespaceOf(slot),
      );
    },
    async disconnect(slot) {
      await tool(['ip', 'link', 'set', names.interfaceOf(slot), 'down']);
    },
    isMade: (slot) => existsSync(`/sys/class/net/${names.interfaceOf(slot)}`) || cableIn(names.interfaceOf(slot)),
    async remove(slot) {
      // Each may be gone already, with the other or by hand.
      await tool(['ip', 'link', 'delete', names.interfaceOf(slot)]).catch(() => {});
      if (existsSync(join(namespaces, names.namespaceOf(slot)))) {
        await tool(['ip', 'netns', 'delete', names.namespaceOf(slot)]);
      }
    },
    slots() {
      const cables = cablesHere().flatMap((name) => slotIn(name, names.interfaces));
      const found = existsSync(namespaces) ? readdirSync(namespaces) : [];
      return [...new Set([...cables, ...found.flatMap((name) => slotIn(name, `${names.group}-`))])];
    },
    async uplinks() {
      if (uplink !== null) return [uplink];
      const routes = [...(await defaults('-4')), ...(await defaults('-6'))];
      return [...new Set(routes.flatMap(({ dev }) => (dev === undefined ? [] : [dev])))].sort();
    },
    reaches6: async () => uplink !== null || (await defaults('-6')).length > 0,
    async open() {
      routeOn();
      await batch([
        `route replace unreachable ${ranges.subnet4}`,
        `route replace unreachable ${ranges.subnet6} dev lo`,
      ]);
    },
    async close() {
      const none = () => {};
      await tool(['ip', 'route', 'delete', 'unreachable', ranges.subnet4]).catch(none);
      await tool(['ip', '-6', 'route', 'delete', 'unreachable', ranges.subnet6]).catch(none);
    },
  };
}

/** Interfaces of this process's own namespace; `/sys` may show another's. */
function cablesHere(): string[] {
  return readdirSync('/proc/sys/net/ipv4/conf');
}
const cableIn = (name: string) => cablesHere().includes(name);

function slotIn(name: string, prefix: string): number[] {
  const rest = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^\d{1,4}$/.test(rest) ? [Number(rest)] : [];
}

const proc = '/proc/sys/net';

/** On the cable this machine answers only for its gateway, announces no router, and accepts no announcements. */
function setInterface(name: string): void {
  const values = {
    [`ipv4/conf/${name}/forwarding`]: '1',
    [`ipv4/conf/${name}/arp_ignore`]: '1',
    [`ipv4/conf/${name}/route_localnet`]: '0',
    [`ipv4/conf/${name}/accept_redirects`]: '0',
    [`ipv4/conf/${name}/send_redirects`]: '0',
    [`ipv4/conf/${name}/rp_filter`]: '1',
    [`ipv6/conf/${name}/accept_ra`]: '0',
    [`ipv6/conf/${name}/accept_redirects`]: '0',
  };
  for (const [file, value] of Object.entries(values)) writeFileSync(join(proc, file), value);
}

/** Whether this machine forwards packets of others already. */
export function passesOn(): boolean {
  return value('ipv4/ip_forward') === '1' || value('ipv6/conf/all/forwarding') === '1';
}

/** A machine that forwards IPv6 ignores router announcements unless it is set to accept them: it would lose its own route. */
function routeOn(): void {
  if (value('ipv6/conf/all/forwarding') === '0') {
    for (const name of readdirSync(join(proc, 'ipv6/conf'))) {
      if (value(`ipv6/conf/${name}/accept_ra`) === '1') writeFileSync(join(proc, `ipv6/conf/${name}/accept_ra`), '2');
    }
    writeFileSync(join(proc, 'ipv6/conf/all/forwarding'), '1');
  }
  if (value('ipv4/ip_forward') === '0') writeFileSync(join(proc, 'ipv4/ip_forward'), '1');
}

function value(file: string): string | null {
  try {
    return readFileSync(join(proc, file), 'utf8').trim();
  } catch {
    return null;
  }
}

/** A range of 256 computers' addresses that overlaps no address and no route of this machine. Throws `not_here` if no range is free. */
export async function findRanges(tool: Tool, wanted: string | null): Promise<Ranges> {
  const listed = async (...words: string[]) =>
    JSON.parse((await tool(['ip', '-4', '-j', ...words])) || '[]') as unknown[];
  const addresses = ((await listed('address')) as { addr_info?: { local?: string; prefixlen?: number }[] }[]).flatMap(
    ({ addr_info }) => (addr_info ?? []).map(({ local, prefixlen }) => `${local}/${prefixlen}`),
  );
  const routes = ((await listed('route', 'show', 'table', 'all')) as { dst?: string }[]).map(({ dst }) => dst ?? '');
  const used = [...addresses, ...routes]
    .filter((range) => range !== 'default')
    .map((range) => (range.includes('/') ? range : `${range}/32`))
    .filter((range) => ipaddr.isValidCIDR(range));
  const candidates =
    wanted === null
      ? ['10.231', '10.87', '172.29', '192.168'].flatMap((start) =>
          Array.from({ length: 64 }, (_, index) => `${start}.${index * 4}.0/22`),
        )
      : [wanted];
  const subnet4 = candidates.find((candidate) => !used.some((range) => overlap(candidate, range)));
  if (subnet4 === undefined) {
    const what = wanted ?? 'every range that Gantry would take';
    throw new HostError('not_here', `${what} is in use on this machine: give another with --subnet.`);
  }
  const random = randomBytes(5).toString('hex');
  return { subnet4, subnet6: `fd${random.slice(0, 2)}:${random.slice(2, 6)}:${random.slice(6)}::/48` };
}

function overlap(left: string, right: string): boolean {
  const [first, bits] = ipaddr.parseCIDR(left);
  const [second, more] = ipaddr.parseCIDR(right);
  if (first.kind() !== second.kind()) return false;
  return first.match(second, Math.min(bits, more));
}
