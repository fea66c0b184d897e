/** Whether this machine can make computers, and what is missing if not. The trial leaves nothing behind. */
import { lstatSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Code } from '../../kit/sandbox/own-code.ts';
import { asUser } from './room.ts';
import { isProgram, type Tool } from './tools.ts';

/** The purpose of each, by Debian's package. */
const programs: Readonly<Record<string, string>> = {
  ip: 'iproute2',
  nft: 'nftables',
  dnsmasq: 'dnsmasq-base',
  bwrap: 'bubblewrap',
  setpriv: 'util-linux',
  nsenter: 'util-linux',
  Xvfb: 'xvfb',
  openbox: 'openbox',
  chromium: 'chromium',
};

interface MachineDeps {
  readonly tool: Tool;
  readonly path: string;
  readonly platform: NodeJS.Platform;
  readonly uid: number | undefined;
  /** The first computer's user id; the others follow. */
  readonly firstUid: number;
  readonly most: number;
  /** Paths that every computer reads. */
  readonly code: Code;
}

/** A sentence, or null. The cheapest check first: root and Linux before running anything. */
export async function whyNot({ tool, path, platform, uid, firstUid, most, code }: MachineDeps): Promise<string | null> {
  if (platform !== 'linux') return `Hosted computers run only on Linux; this is ${platform}.`;
  if (uid !== 0) return 'The computer host must be started as root: it makes networks and users for computers.';
  const missing = Object.keys(programs).filter((name) => !isProgram(path, name));
  if (missing.length > 0) {
    const packages = [...new Set(missing.map((name) => programs[name]))].join(' ');
    return `Missing on this machine: ${missing.join(', ')}. Debian has them: apt-get install ${packages}`;
  }
  const taken = accountIn(firstUid, firstUid + most);
  if (taken !== null) {
    return `The account ${taken} has one of the user ids ${firstUid} to ${firstUid + most - 1}: choose others with --first-uid.`;
  }
  return (await unreadable(tool, firstUid, code)) ?? (await noNamespaces(tool, firstUid)) ?? (await noFirewall(tool));
}

/** Null: only root can change the folders on the path. Otherwise somebody could redirect root by a link, and have another folder given away. */
export function whoElseChanges(folder: string): string | null {
  for (let path = folder; ; path = dirname(path)) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined) {
      const open = (found.mode & 0o022) !== 0 && (found.mode & 0o1000) === 0;
      if (found.isSymbolicLink() || found.uid !== 0 || open) {
        return `Users other than root can change ${path}: with --folder, give a path on which every folder belongs to root.`;
      }
    }
    if (path === dirname(path)) return null;
  }
}

/**
 * Null: the users of computers can enter every folder on the path. Otherwise no computer could start, which the helper would notice only at the first
 * one.
 */
export function whereNobodyEnters(folder: string): string | null {
  for (let path = dirname(folder); ; path = dirname(path)) {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found !== undefined && (found.mode & 0o001) === 0) {
      return `Other users cannot enter ${path}, which is on the path to the computers: chmod o+x ${path}, or give another folder with --folder.`;
    }
    if (path === dirname(path)) return null;
  }
}

async function unreadable(tool: Tool, uid: number, code: Code): Promise<string | null> {
  for (const file of [process.execPath, join(code.root, code.program)]) {
    const tried = tool([...asUser(uid), 'test', '-r', file]);
    const readable = await tried.then(
      () => true,
      () => false,
    );
    if (!readable) return `Other users cannot read ${file}, which runs in computers: put Gantry where they can.`;
  }
  return null;
}

/** The browser's own sandbox makes user namespaces inside the computer's, without any privilege: the trial does the same. */
async function noNamespaces(tool: Tool, uid: number): Promise<string | null> {
  const inner = ['--ro-bind', '/', '/', '--unshare-user', '--unshare-pid', '--unshare-net', 'true'];
  const outer = ['--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev', '--unshare-user', '--unshare-pid'];
  const [program, ...words] = [...asUser(uid), 'bwrap', ...outer, 'bwrap', ...inner] as [string, ...string[]];
  try {
    await tool([program, ...words]);
    return null;
  } catch (error) {
    return `Unprivileged users cannot make namespaces here, which the browser’s sandbox needs: allow it (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0). ${said(error)}`;
  }
}

/** In a namespace that ends with the command. */
async function noFirewall(tool: Tool): Promise<string | null> {
  const words = 'table inet t {\nchain f {\ntype filter hook forward priority 0;\nfib daddr type local drop\n}\n}\n';
  try {
    await tool(['unshare', '--net', 'nft', '-f', '-'], words);
    return null;
  } catch (error) {
    return `No network namespace with its own firewall can be made here. ${said(error)}`;
  }
}

function accountIn(first: number, end: number): string | null {
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [name, , uid] = line.split(':');
    if (name !== undefined && Number(uid) >= first && Number(uid) < end) return name;
  }
  return null;
}

function said(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).trim().slice(0, 300);
}
