/**
 * A network of its own for a sandbox (`network: 'names'`): a launcher runs in it, outside of what the sandbox sees, and joins each connection with one
 * Unix socket. Whoever listens there decides; while nobody does, nothing is reached. Must not know who decides, or what runs. Linux only.
 */
import { delimiter } from 'node:path';
import { programIn } from './bubblewrap.ts';
import { type LaunchOrder, proxyAddress } from './launch-order.ts';
import type { Mount } from './sandbox.ts';

interface NetworkTools {
  readonly unshare: string;
  readonly setpriv: string;
  readonly ip: string;
  readonly nft: string;
}

const packages: Readonly<Record<keyof NetworkTools, string>> = {
  unshare: 'util-linux',
  setpriv: 'util-linux',
  ip: 'iproute2',
  nft: 'nftables',
};
/** Where programs for root lie, which are not on everybody's PATH. */
const rootFolders = ['/usr/sbin', '/sbin'];

/** Half a sentence if one is missing: "… is not installed". */
export function findNetworkTools(path: string): NetworkTools | string {
  const places = [path, ...rootFolders].join(delimiter);
  const found: Partial<Record<keyof NetworkTools, string>> = {};
  for (const name of Object.keys(packages) as (keyof NetworkTools)[]) {
    const file = programIn(places, name);
    if (file === null) return `\`${name}\`, which is part of ${packages[name]}, is not installed`;
    found[name] = file;
  }
  return found as NetworkTools;
}

/**
 * The command in a network of its own. A user gets the right to fill that network in a user namespace, and the launcher alone has it: bubblewrap
 * refuses to start with any. What the launcher starts is killed when the launcher ends.
 */
export function inOwnNetwork(
  tools: NetworkTools,
  /** argv of `sandbox-launch`. */
  launcher: readonly string[],
  order: Omit<LaunchOrder, 'tools'>,
  command: readonly [string, ...string[]],
  asRoot: boolean = process.getuid?.() === 0,
): [string, ...string[]] {
  const { unshare, setpriv, ip, nft } = tools;
  const whole: LaunchOrder = { ...order, tools: { ip, nft } };
  return [
    ...([unshare, ...(asRoot ? [] : ['--map-current-user', '--keep-caps']), '--net', '--'] as const),
    ...[...launcher, JSON.stringify(whole), '--'],
    ...[setpriv, '--pdeathsig', 'KILL', ...(asRoot ? [] : ['--inh-caps=-all', '--ambient-caps=-all']), '--'],
    ...command,
  ];
}

/** Files of `/etc` by which programs look names up in that network, by name. */
export function namesFiles(hostName: string): Readonly<Record<string, string>> {
  return {
    'resolv.conf': 'nameserver 127.0.0.1\noptions timeout:2 attempts:2\n',
    hosts: `127.0.0.1 localhost\n::1 localhost\n127.0.1.1 ${hostName}\n`,
    'nsswitch.conf':
      'passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nservices: files\nprotocols: files\n',
  };
}

/** `folder` has those files. */
export function namesMounts(folder: string): Mount[] {
  return Object.keys(namesFiles('')).map((name) => ({ at: `/etc/${name}`, shows: 'read', from: `${folder}/${name}` }));
}

/** For programs that know proxies: they get a refusal in words. */
export function proxyVariables(): Record<string, string> {
  const url = `http://${proxyAddress}`;
  const own = 'localhost,127.0.0.1,::1';
  return {
    ...{ HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: own },
    ...{ http_proxy: url, https_proxy: url, no_proxy: own },
    // Node asks no proxy without it.
    NODE_USE_ENV_PROXY: '1',
  };
}
