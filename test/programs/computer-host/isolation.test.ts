// Runs apart: it makes namespaces, networks and processes of the whole computer.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Addresses } from '../../../src/programs/computer-host/network.ts';
import { createNetwork } from '../../../src/programs/computer-host/network.ts';
import { namesFor } from '../../../src/programs/computer-host/settings.ts';
import {
  clearAway,
  type Helper,
  helperFolder,
  kept,
  noComputers,
  startHelper,
} from '../../support/computers/helper.ts';
import type { Attempt } from '../../support/computers/probe.ts';
import { createWorld, ip, privateNames, type World, world } from '../../support/computers/world.ts';

const missing = noComputers();
if (missing !== null) console.warn(`Not run: what a computer can reach (${missing}).`);

const probe = fileURLToPath(new URL('../../support/computers/probe.ts', import.meta.url));
const mine = 'cmp_000000000001';
const others = 'cmp_000000000002';

describe.skipIf(missing !== null)('a hosted computer', () => {
  const folder = helperFolder();
  const names = namesFor(folder);
  let around: World;
  let helper: Helper;
  let addresses: (slot: number) => Addresses;

  beforeAll(async () => {
    around = await createWorld();
    helper = await startHelper({ world: around, folder });
    for (const computer of [mine, others]) {
      await helper.ask('create', computer);
      await helper.ask('start', computer);
    }
    const ranges = kept(folder, 'machine.json') as { subnet4: string; subnet6: string };
    const tool = () => Promise.resolve('');
    addresses = createNetwork({ tool, names, ranges, uplink: null }).addresses;
    // Beyond knows the way to them, so that nothing but the machine keeps it from coming in.
    around.route4(ranges.subnet4);
    around.route6(ranges.subnet6);
    await around.listen(names.namespaceOf(1));
    // As somebody who has taken over the network of the computer, which nobody inside has.
    const { computer4, computer6 } = addresses(1);
    ip('-n', names.namespaceOf(0), 'address', 'add', `${computer4}/32`, 'dev', 'eth0');
    // Never chosen by itself.
    const only = ['nodad', 'preferred_lft', '0'];
    ip('-n', names.namespaceOf(0), 'address', 'add', `${computer6}/128`, 'dev', 'eth0', ...only);
  }, 120_000);

  afterAll(async () => {
    await helper?.stop();
    around?.close();
    clearAway(folder);
  }, 60_000);

  function tryFrom(namespace: string, attempts: readonly Attempt[]): string[] {
    const words = [`--net=/run/netns/${namespace}`, '--', process.execPath, probe, JSON.stringify(attempts)];
    const { stdout, stderr } = spawnSync('nsenter', words, { encoding: 'utf8' });
    if (stdout === '') throw new Error(stderr);
    return JSON.parse(stdout) as string[];
  }

  /** Name of each and what came of it. */
  function tried(namespace: string, attempts: Readonly<Record<string, Attempt>>): Record<string, string> {
    const results = tryFrom(namespace, Object.values(attempts));
    return Object.fromEntries(Object.keys(attempts).map((name, index) => [name, results[index] as string]));
  }

  const to = (host: string, port = 8080, from?: string): Attempt => ({
    do: 'tcp',
    host,
    port,
    ...(from === undefined ? {} : { from }),
  });

  function forbidden(): Record<string, Attempt> {
    const [own, other] = [addresses(0), addresses(1)];
    const link = ip('-n', around.machine, '-6', '-o', 'address', 'show', 'dev', names.interfaceOf(0), 'scope', 'link');
    const linkLocal = /inet6 (fe80:[^/]+)/.exec(link)?.[1] as string;
    return {
      'private 10.0.0.0/8': to('10.9.9.9'),
      'private 172.16.0.0/12': to('172.16.5.5'),
      'private 192.168.0.0/16': to('192.168.77.7'),
      'shared 100.64.0.0/10': to('100.64.7.7'),
      'link-local and metadata': to('169.254.169.254'),
      'benchmarks 198.18.0.0/15': to('198.18.0.5'),
      'gateway, another port': to(own.gateway4),
      'gateway over IPv6': to(own.gateway6),
      'gateway over IPv6, port 53': to(own.gateway6, 53),
      'gateway, link-local': to(`${linkLocal}%eth0`),
      'machine, its address': to(world.uplink4),
      'machine, its address, port 53': to(world.uplink4, 53),
      'machine, its second address': to(world.second4),
      'machine, a public address on its loopback': to(world.own4),
      'machine over IPv6': to(world.uplink6),
      'machine over IPv6, port 53': to(world.uplink6, 53),
      'machine, a public IPv6 address on its loopback': to(world.own6),
      'another computer': to(other.computer4),
      'another computer over IPv6': to(other.computer6),
      'another computer’s gateway, port 53': to(other.gateway4, 53),
      'unique local fc00::/7': to('fd00:9::9'),
      'NAT64 of a private address': to('64:ff9b::a09:909'),
      '6to4 of a private address': to('2002:a09:909::1'),
      'documentation 2001:db8::/32': to('2001:db8::9'),
      'a private address mapped into IPv6': to('::ffff:10.9.9.9'),
      'mail, port 25': to(world.public4, 25),
      'mail over IPv6, port 25': to(world.public6, 25),
    };
  }
  // The other computer's own addresses are on this one as well now: it would reach itself.
  const withoutSpoofed = (all: Record<string, Attempt>) =>
    Object.fromEntries(Object.entries(all).filter(([name]) => !/^another computer( over IPv6)?$/.test(name)));

  test('reaches public addresses of both kinds, and what it needs at its gateway', () => {
    const { gateway4, computer4 } = addresses(0);
    expect(
      tried(names.namespaceOf(0), {
        'public IPv4': to(world.public4),
        'another public IPv4': to(world.otherPublic4),
        'public IPv6': to(world.public6),
        'DNS over TCP': to(gateway4, 53),
        'a public name': { do: 'name', name: 'public.example', server: gateway4 },
        DHCP: { do: 'dhcp' },
      }),
    ).toEqual({
      'public IPv4': 'open',
      'another public IPv4': 'open',
      'public IPv6': 'open',
      'DNS over TCP': 'open',
      'a public name': `${world.public4} ${world.public6}`,
      DHCP: computer4,
    });
  });

  test('reaches nothing private, nothing of its machine, no other computer and no mail server', () => {
    const all = withoutSpoofed(forbidden());
    const results = tried(names.namespaceOf(0), all);
    expect(Object.entries(results).filter(([, what]) => what === 'open')).toEqual([]);
    // The other computer from one that does not have its addresses: from the other side.
    const back = tried(names.namespaceOf(1), { first: to(addresses(0).computer4), first6: to(addresses(0).computer6) });
    expect(Object.values(back)).not.toContain('open');
    // What would be the machine's loopback is the computer's own, where nobody listens.
    expect(tried(names.namespaceOf(0), { four: to('127.0.0.1'), six: to('::1') })).toEqual({
      four: 'ECONNREFUSED',
      six: 'ECONNREFUSED',
    });
  });

  test('is told of no private address by any name, though its name server is', () => {
    const { gateway4 } = addresses(0);
    const asking = (server: string) =>
      Object.fromEntries(privateNames.map(([name]) => [name, { do: 'name', name, server } as const]));
    const told = tried(names.namespaceOf(0), asking(gateway4));
    expect(Object.entries(told).filter(([, answer]) => answer !== 'none')).toEqual([]);
    const upstream = tried(around.machine, asking(world.nameServer));
    expect(Object.entries(upstream).filter(([, answer]) => answer === 'none')).toEqual([]);
  });

  test('asks its name server so often a second and no more, and takes it from no other computer', async () => {
    const ask = (slot: number) => ({ do: 'name', name: 'public.example', server: addresses(slot).gateway4 }) as const;
    const known = `${world.public4} ${world.public6}`;
    const flood = { do: 'flood', name: 'public.example', server: addresses(0).gateway4, count: 5000 } as const;
    const [count = 0, of] = tryFrom(names.namespaceOf(0), [flood])[0]!.split(' of ').map(Number);
    // A thousand at once and a hundred a second.
    expect([of, count > 100, count < 2500]).toEqual([5000, true, true]);
    expect(tried(names.namespaceOf(1), { another: ask(1) })).toEqual({ another: known });
    // What counts is no fault of the firewall, and who stops asking may ask again.
    const third = 'cmp_000000000003';
    for (const op of ['create', 'start', 'delete'] as const) await helper.ask(op, third);
    await expect.poll(() => tried(names.namespaceOf(0), { again: ask(0) })).toEqual({ again: known });
  });

  const spoofed = (text: string): Record<string, Attempt> => ({
    'IPv4 as another computer': { do: 'datagram', host: world.public4, text: `${text}4`, from: addresses(1).computer4 },
    'IPv6 as another computer': { do: 'datagram', host: world.public6, text: `${text}6`, from: addresses(1).computer6 },
  });
  const arrived = (text: string) => around.datagrams.filter((line) => line.includes(text)).length;

  test('sends nothing in another’s name, and is not reached from outside', async () => {
    tried(names.namespaceOf(0), spoofed('spoofed'));
    const { computer4, computer6 } = addresses(1);
    const inbound = { 'to it': to(computer4), 'to it over IPv6': to(computer6) };
    expect(Object.values(tried(around.beyond, inbound))).not.toContain('open');
    expect(Object.values(tried(around.machine, inbound))).not.toContain('open');
    // In its own name it arrives, so whatever was sent before would have, too.
    const own = { do: 'datagram', host: world.public4, text: 'honest', from: addresses(0).computer4 } as const;
    tried(names.namespaceOf(0), { own });
    await expect.poll(() => arrived('honest')).toBe(1);
    expect(arrived('spoofed')).toBe(0);
  });

  // Last: nothing holds the computers after it.
  test('could do all of it without what holds it apart', async () => {
    // Who would put it up again is away; the computers run on.
    helper.child.kill('SIGSTOP');
    const machine = (...command: [string, ...string[]]) => {
      const [enter, ...words] = around.on('machine');
      const { status, stderr } = spawnSync(enter, [...words, ...command], { encoding: 'utf8' });
      expect(stderr).toBe('');
      expect(status).toBe(0);
    };
    machine('nft', 'delete', 'table', 'inet', names.table);
    machine('sh', '-c', 'for f in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $f; done');
    try {
      const { computer4, computer6 } = addresses(1);
      const inbound = { 'to it': to(computer4), 'to it over IPv6': to(computer6) };
      expect(Object.values(tried(around.beyond, inbound))).toEqual(['open', 'open']);
      expect(Object.values(tried(around.machine, inbound))).toEqual(['open', 'open']);
      tried(names.namespaceOf(0), spoofed('unheld'));
      await expect.poll(() => arrived('unheld')).toBe(2);
      ip('-n', names.namespaceOf(0), 'address', 'delete', `${computer4}/32`, 'dev', 'eth0');
      ip('-n', names.namespaceOf(0), 'address', 'delete', `${computer6}/128`, 'dev', 'eth0');
      const results = tried(names.namespaceOf(0), forbidden());
      expect(Object.entries(results).filter(([, what]) => what !== 'open')).toEqual([]);
    } finally {
      helper.child.kill('SIGCONT');
    }
    // It puts up what is missing as soon as it looks again.
    await expect
      .poll(() => Object.values(tried(names.namespaceOf(0), withoutSpoofed(forbidden()))).includes('open'), {
        timeout: 20_000,
      })
      .toBe(false);
    expect(tried(names.namespaceOf(0), { open: to(world.public4) })).toEqual({ open: 'open' });
  }, 60_000);
});
