/**
 * The part of this machine that a computer sees, and the user that its program runs as: a user of its own without any privilege, in bubblewrap, with
 * the system's programs, Gantry and Node to read, and three folders of its own. No other files of this machine are there. Must not know networks or
 * groups.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Code } from '../../kit/sandbox/own-code.ts';
import { type Mount, readIfThere, type Sandbox, systemMounts } from '../../kit/sandbox/sandbox.ts';

/** Inside a computer. */
export const inside = {
  gantry: '/opt/gantry',
  node: '/opt/node/bin/node',
  home: '/home/user',
  data: '/var/lib/gantry',
  run: '/run/gantry',
} as const;

/** Folders of a computer on this machine, below its own. */
export const roomFolders = { home: 'home', data: 'data', run: 'run', etc: 'etc' } as const;

interface RoomOptions {
  readonly folder: string;
  readonly code: Code;
  /** Node on this machine. */
  readonly node: string;
}

/** Besides those of the system: what its display, its browser and their letters need, if this machine has them. */
const readable = [
  '/etc/chromium',
  '/etc/chromium.d',
  '/etc/fonts',
  '/etc/X11',
  '/etc/xdg/openbox',
  '/var/cache/fontconfig',
];
const ownEtc = ['passwd', 'group', 'hosts', 'hostname', 'resolv.conf', 'nsswitch.conf'] as const;

/** Written for each computer: it has one user, and its gateway is its name server. */
export function writeEtc(folder: string, uid: number, gateway: string): void {
  const files: Readonly<Record<(typeof ownEtc)[number], string>> = {
    passwd: `user:x:${uid}:${uid}:user:${inside.home}:/bin/sh\n`,
    group: `user:x:${uid}:\n`,
    hosts: '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 computer\n',
    hostname: 'computer\n',
    'resolv.conf': `nameserver ${gateway}\n`,
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o644 });
}

export function roomSandbox({ folder, code, node }: RoomOptions): Sandbox {
  const own = (name: keyof typeof roomFolders, at: string): Mount => ({
    at,
    shows: 'write',
    from: join(folder, roomFolders[name]),
  });
  return {
    mounts: [
      ...systemMounts(),
      ...readIfThere(readable),
      ...ownEtc.map(
        (name): Mount => ({ at: `/etc/${name}`, shows: 'read', from: join(folder, roomFolders.etc, name) }),
      ),
      { at: '/tmp', shows: 'empty' },
      { at: '/tmp/.X11-unix', shows: 'folder', mode: '1777' },
      { at: '/var/tmp', shows: 'folder' },
      { at: inside.node, shows: 'read', from: node },
      ...code.shown.map(
        (path): Mount => ({ at: join(inside.gantry, path), shows: 'read', from: join(code.root, path) }),
      ),
      { at: join(inside.gantry, 'node_modules'), shows: 'read', from: code.modules },
      own('home', inside.home),
      own('data', inside.data),
      own('run', inside.run),
    ],
    // The namespace that it is started in, behind the firewall.
    network: 'host',
    users: 'own',
    hostName: 'computer',
    terminal: 'none',
    ends: 'alone',
    cwd: inside.home,
  };
}

/** The whole environment of its first process. */
export const roomEnvironment = { PATH: '/usr/bin:/bin', HOME: inside.home, LANG: 'C.UTF-8' } as const;

/** Arguments that switch to a user without any privilege, permanently. */
export function asUser(uid: number): [string, ...string[]] {
  return [
    'setpriv',
    ...['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--no-new-privs'],
    ...['--inh-caps', '-all', '--bounding-set', '-all'],
  ];
}
