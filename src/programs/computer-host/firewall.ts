/**
 * The outgoing and incoming traffic of hosted computers: a firewall table of this machine, on this machine's side of each computer's cable, where
 * nobody inside a computer can change it. The table is written whole, read back and compared; an added or missing rule is a fault. Must not know
 * computers beyond their interfaces and addresses.
 */
import { public6, refused4, refused6 } from '../../kit/egress/refused-ranges.ts';
import type { Names } from './settings.ts';
import { HostError, type Tool } from './tools.ts';

export interface Guest {
  readonly name: string;
  readonly address4: string;
  readonly address6: string;
}

export interface Firewall {
  /** Installs the table for these computers, in one step, and checks it. Throws `not_isolated`. */
  load(guests: readonly Guest[], uplinks: readonly string[]): Promise<void>;
  /** Installs it again for the known computers. Throws `not_isolated`. */
  reload(uplinks: readonly string[]): Promise<void>;
  /** Adds one, and checks that the table is unchanged and has it. Throws `not_isolated`. */
  admit(guest: Guest): Promise<void>;
  expel(guest: Guest): Promise<void>;
  /** The difference from the installed table, or null. */
  differs(): Promise<string | null>;
  remove(): Promise<void>;
}

/**
 * Limit of packets to the name server, for each computer: a page with two hundred hosts sends six hundred queries at once, and then hardly any.
 * Endless queries would use up the machine's own name servers.
 */
const questions = '100/second burst 1000 packets';

type Chains = Readonly<Record<string, { readonly hook: string | null; readonly rules: readonly string[] }>>;

/** `only`: this machine forwarded nothing before; then it forwards only traffic of computers. */
function chainsOf(names: Names, only: boolean): Chains {
  const ours = `"${names.interfaces}*"`;
  return {
    // From a computer to this machine: DHCP and DNS at its own gateway, and neighbour discovery.
    to_machine: {
      hook: null,
      rules: [
        'meta nfproto ipv4 udp sport 68 udp dport 67 accept',
        'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept',
        'meta nfproto ipv6 drop',
        'iifname . ip saddr != @computers4 drop',
        `fib daddr . iif type local meta l4proto { tcp, udp } th dport 53 update @questions { iifname limit rate over ${questions} } drop`,
        'fib daddr . iif type local meta l4proto { tcp, udp } th dport 53 accept',
        'drop',
      ],
    },
    // From a computer to elsewhere.
    to_world: {
      hook: null,
      rules: [
        'meta nfproto ipv4 iifname . ip saddr != @computers4 drop',
        'meta nfproto ipv6 iifname . ip6 saddr != @computers6 drop',
        'ip daddr @denied4 drop',
        `ip6 daddr != ${public6} drop`,
        'ip6 daddr @denied6 drop',
        'fib daddr type { local, broadcast, multicast, anycast } drop',
        'tcp dport 25 drop',
        'ct state invalid drop',
        'oifname @uplinks accept',
        'drop',
      ],
    },
    // From this machine to a computer: answers, and replies of DHCP and neighbour discovery.
    from_machine: {
      hook: null,
      rules: [
        'ct state established,related accept',
        'meta nfproto ipv4 udp sport 67 udp dport 68 accept',
        'icmpv6 type { nd-neighbor-solicit, nd-neighbor-advert } accept',
        'drop',
      ],
    },
    input: { hook: 'filter hook input priority filter - 10', rules: [`iifname ${ours} goto to_machine`] },
    output: { hook: 'filter hook output priority filter - 10', rules: [`oifname ${ours} goto from_machine`] },
    forward: {
      hook: 'filter hook forward priority filter - 10',
      rules: [
        `iifname ${ours} goto to_world`,
        `oifname ${ours} ct state established,related accept`,
        `oifname ${ours} drop`,
        ...(only ? ['drop'] : []),
      ],
    },
    behind_machine: {
      hook: 'nat hook postrouting priority srcnat',
      rules: [`iifname ${ours} oifname @uplinks masquerade`],
    },
  };
}

interface FirewallDeps {
  readonly tool: Tool;
  readonly names: Names;
  readonly only: boolean;
}

export function createFirewall({ tool, names, only }: FirewallDeps): Firewall {
  const chains = chainsOf(names, only);
  const { table } = names;
  let known: string | null = null;
  let guests: Guest[] = [];
  let lane: Promise<unknown> = Promise.resolve();

  function words(uplinks: readonly string[]): string {
    const set = (name: string, type: string, elements: readonly string[], more = '') =>
      `set ${name} { type ${type}; ${more}${elements.length === 0 ? '' : `elements = { ${elements.join(', ')} };`} }`;
    const sets = [
      set('computers4', 'ifname . ipv4_addr', guests.map(pair4)),
      set('computers6', 'ifname . ipv6_addr', guests.map(pair6)),
      set(
        'uplinks',
        'ifname',
        uplinks.map((name) => `"${name}"`),
      ),
      set('denied4', 'ipv4_addr', refused4, 'flags interval; auto-merge; '),
      set('denied6', 'ipv6_addr', refused6, 'flags interval; auto-merge; '),
      // Filled by the rule that counts the rate of each computer's queries.
      set('questions', 'ifname', [], 'size 1024; flags dynamic; '),
    ];
    const written = Object.entries(chains).map(([name, { hook, rules }]) => {
      const head = hook === null ? [] : [`type ${hook}; policy accept;`];
      return [`chain ${name} {`, ...head, ...rules, '}'].join('\n');
    });
    // Replaced in one step: there is no moment without it.
    return `table inet ${table} {}\ndelete table inet ${table}\ntable inet ${table} {\n${[...sets, ...written].join('\n')}\n}\n`;
  }

  /** The kernel's table, without counters and other changing parts. */
  async function read(): Promise<Read> {
    const listed = JSON.parse(await tool(['nft', '-j', 'list', 'table', 'inet', table])) as { nftables: Listed[] };
    return readTable(listed.nftables);
  }

  async function check(expected: string | null): Promise<Read> {
    const found = await read().catch((cause: Error) => {
      throw isolation(`The firewall could not be read back: ${cause.message}`, cause);
    });
    const wrong = wrongIn(found, chains) ?? (expected !== null && found.fixed !== expected ? changed : null);
    if (wrong !== null) throw isolation(`The firewall is not what was set up: ${wrong}.`);
    const missing = guests.find((guest) => !found.guests.has(guest4(guest)) || !found.guests.has(guest6(guest)));
    if (missing !== undefined) throw isolation(`The firewall does not know ${missing.name}.`);
    if (found.guests.size !== guests.length * 2) throw isolation('The firewall knows computers that do not exist.');
    return found;
  }

  const elements = (verb: 'add' | 'delete', guest: Guest) =>
    tool(
      ['nft', '-f', '-'],
      `${verb} element inet ${table} computers4 { ${pair4(guest)} }\n${verb} element inet ${table} computers6 { ${pair6(guest)} }\n`,
    );

  async function put(uplinks: readonly string[]): Promise<void> {
    await tool(['nft', '-f', '-'], words(uplinks)).catch((cause: Error) => {
      throw isolation(`The firewall could not be set up: ${cause.message}`, cause);
    });
    known = (await check(null)).fixed;
  }

  /** One after another: a half-written table would look like a fault to a concurrent check. */
  function inLane<Result>(work: () => Promise<Result>): Promise<Result> {
    const result = lane.then(work);
    lane = result.catch(() => {});
    return result;
  }

  return {
    load: (all, uplinks) =>
      inLane(() => {
        guests = [...all];
        return put(uplinks);
      }),
    reload: (uplinks) => inLane(() => put(uplinks)),
    admit: (guest) =>
      inLane(async () => {
        guests.push(guest);
        try {
          await elements('add', guest);
          await check(known);
        } catch (cause) {
          guests = guests.filter((one) => one !== guest);
          await elements('delete', guest).catch(() => {});
          if (cause instanceof HostError) throw cause;
          throw isolation(`The firewall could not be updated for a computer: ${(cause as Error).message}`, cause);
        }
      }),
    expel: (guest) =>
      inLane(async () => {
        if (!guests.some((one) => one.name === guest.name)) return;
        guests = guests.filter((one) => one.name !== guest.name);
        // It may have been removed with the table.
        await elements('delete', guest).catch(() => {});
      }),
    differs: () =>
      inLane(() =>
        check(known).then(
          () => null,
          (fault: Error) => fault.message,
        ),
      ),
    async remove() {
      await tool(['nft', '-f', '-'], `table inet ${table} {}\ndelete table inet ${table}\n`);
    },
  };
}

const changed = 'a rule or a range in it was changed';
const pair4 = ({ name, address4 }: Guest) => `"${name}" . ${address4}`;
const pair6 = ({ name, address6 }: Guest) => `"${name}" . ${address6}`;
const guest4 = ({ name, address4 }: Guest) => `${name} ${address4}`;
const guest6 = ({ name, address6 }: Guest) => `${name} ${address6}`;

function isolation(message: string, cause?: unknown): HostError {
  return new HostError('not_isolated', message, { cause });
}

interface Listed {
  readonly set?: { readonly name: string; readonly elem?: readonly unknown[] };
  readonly chain?: { readonly name: string; readonly hook?: string; readonly type?: string; readonly policy?: string };
  readonly rule?: { readonly chain: string; readonly expr: readonly unknown[] };
}

interface Read {
  /** Rules of each chain, in order. */
  readonly rules: ReadonlyMap<string, readonly string[]>;
  /** `type hook policy` of each chain. */
  readonly hooks: ReadonlyMap<string, string>;
  readonly sets: ReadonlyMap<string, number>;
  /** `interface address` */
  readonly guests: ReadonlySet<string>;
  /** All except the computers, for comparison. */
  readonly fixed: string;
}

function readTable(listed: readonly Listed[]): Read {
  const rules = new Map<string, string[]>();
  const hooks = new Map<string, string>();
  const sets = new Map<string, number>();
  const guests = new Set<string>();
  const fixed: unknown[] = [];
  for (const { set, chain, rule } of listed) {
    if (set?.name.startsWith('computers')) {
      for (const element of set.elem ?? []) {
        guests.add((element as { concat: readonly string[] }).concat.join(' '));
      }
    } else if (set !== undefined && set.name !== 'questions') {
      sets.set(set.name, set.elem?.length ?? 0);
      fixed.push([set.name, set.elem]);
    }
    if (chain !== undefined) {
      hooks.set(chain.name, [chain.type, chain.hook, chain.policy].filter(Boolean).join(' '));
      fixed.push({ ...chain, handle: 0 });
    }
    if (rule !== undefined) {
      const words = JSON.stringify(rule.expr);
      rules.set(rule.chain, [...(rules.get(rule.chain) ?? []), words]);
      fixed.push([rule.chain, words]);
    }
  }
  return { rules, hooks, sets, guests, fixed: JSON.stringify(fixed) };
}

/** The missing parts of the intended table. Adjacent ranges may have been merged. */
function wrongIn(found: Read, chains: Chains): string | null {
  for (const [name, { hook, rules }] of Object.entries(chains)) {
    const has = found.rules.get(name)?.length ?? 0;
    if (has !== rules.length) return `the chain ${name} has ${has} rules instead of ${rules.length}`;
    const [type, , place] = hook?.split(' ') ?? [];
    const wants = hook === null ? '' : `${type} ${place} accept`;
    if (found.hooks.get(name) !== wants) return `the chain ${name} is not where it belongs`;
  }
  if (found.hooks.size !== Object.keys(chains).length) return 'there are chains that Gantry did not set up';
  for (const name of ['denied4', 'denied6', 'uplinks']) {
    if ((found.sets.get(name) ?? 0) === 0) return `the set ${name} is empty`;
  }
  return null;
}
