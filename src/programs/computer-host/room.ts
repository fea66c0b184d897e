/**
 * The part of this machine that a computer sees, and the user that its program runs as: a user of its own without any privilege, in bubblewrap, with
 * the system's programs, Gantry and Node to read, and three folders of its own. No other files of this machine are there. Must not know networks or
 * groups.
 */
import { existsSync, lstatSync, readlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { programFile } from '../../kit/process/programs.ts';

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

/** Gantry's own files on this machine: source or built. */
export interface Code {
  readonly root: string;
  /** The shown part: below the root. */
  readonly shown: readonly string[];
  /** Where its packages are; beside it, if it is a package itself. */
  readonly modules: string;
  /** The program of a computer, below the root. */
  readonly program: string;
}

export function findCode(): Code {
  const program = programFile('hosted-device');
  const built = program.endsWith('.js');
  const root = dirname(dirname(dirname(program)));
  const own = join(root, 'node_modules');
  const modules = existsSync(join(own, 'better-sqlite3')) ? own : dirname(root);
  return { root, shown: ['package.json', built ? 'out/server' : 'src'], modules, program: relative(root, program) };
}

interface RoomOptions {
  readonly folder: string;
  readonly code: Code;
  /** Node on this machine. */
  readonly node: string;
}

/** Files below `/etc` and `/var` that programs in a computer read, if this machine has them. */
const readable = [
  '/etc/alternatives',
  '/etc/ca-certificates',
  '/etc/chromium',
  '/etc/chromium.d',
  '/etc/fonts',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/ssl',
  '/etc/X11',
  '/etc/xdg/openbox',
  '/var/cache/fontconfig',
];

/** Written for each computer: it has one user, and its gateway is its name server. */
export function writeEtc(folder: string, uid: number, gateway: string): void {
  const files = {
    passwd: `user:x:${uid}:${uid}:user:${inside.home}:/bin/sh\n`,
    group: `user:x:${uid}:\n`,
    hosts: '127.0.0.1 localhost\n::1 localhost\n127.0.1.1 computer\n',
    hostname: 'computer\n',
    'resolv.conf': `nameserver ${gateway}\n`,
    'nsswitch.conf': 'passwd: files\ngroup: files\nhosts: files dns\n',
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text, { mode: 0o644 });
}

/** Arguments of bwrap that set up the sandbox. */
export function roomWords({ folder, code, node }: RoomOptions): string[] {
  const etc = ['passwd', 'group', 'hosts', 'hostname', 'resolv.conf', 'nsswitch.conf'].flatMap((name) => [
    '--ro-bind',
    join(folder, roomFolders.etc, name),
    `/etc/${name}`,
  ]);
  return [
    ...['--unshare-user', '--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup', '--new-session'],
    ...['--hostname', 'computer'],
    ...['--ro-bind', '/usr', '/usr', ...['bin', 'sbin', 'lib', 'lib64', 'lib32'].flatMap(systemFolder)],
    ...[
      '--proc',
      '/proc',
      '--dev',
      '/dev',
      '--tmpfs',
      '/tmp',
      '--perms',
      '1777',
      '--dir',
      '/tmp/.X11-unix',
      '--dir',
      '/var/tmp',
    ],
    ...readable.flatMap((path) => ['--ro-bind-try', path, path]),
    ...etc,
    ...['--ro-bind', node, inside.node],
    ...code.shown.flatMap((path) => ['--ro-bind', join(code.root, path), join(inside.gantry, path)]),
    ...['--ro-bind', code.modules, join(inside.gantry, 'node_modules')],
    ...['--bind', join(folder, roomFolders.home), inside.home],
    ...['--bind', join(folder, roomFolders.data), inside.data],
    ...['--bind', join(folder, roomFolders.run), inside.run],
    ...['--chdir', inside.home, '--clearenv'],
    ...['--setenv', 'PATH', '/usr/bin:/bin', '--setenv', 'HOME', inside.home, '--setenv', 'LANG', 'C.UTF-8'],
  ];
}

/** `/bin` is a link into `/usr` on most systems, a folder on some. */
function systemFolder(name: string): string[] {
  const path = `/${name}`;
  if (!existsSync(path)) return [];
  return lstatSync(path).isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** Arguments that switch to a user without any privilege, permanently. */
export function asUser(uid: number): [string, ...string[]] {
  return [
    'setpriv',
    ...['--reuid', String(uid), '--regid', String(uid), '--clear-groups', '--no-new-privs'],
    ...['--inh-caps', '-all', '--bounding-set', '-all'],
  ];
}
