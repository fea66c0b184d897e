/**
 * What a program in a sandbox sees, changes and reaches. Every sandbox of Gantry is one of these: commands of tools, set-ups of worktrees, tasks of the
 * worker, hosted computers. It always has processes of its own, no privileges, and a filter of system calls (`filter.ts`). Pure, except that it looks
 * which folders of the system are links. Must not know who runs what.
 */
import { existsSync, lstatSync, readlinkSync } from 'node:fs';

export type Mount =
  /** What lies at `from` (default: the same path) on this computer. `ifThere`: nothing is mounted where it is missing. */
  | { readonly at: string; readonly shows: 'read' | 'write'; readonly from?: string; readonly ifThere?: true }
  /** A folder of the sandbox's own, in memory. */
  | { readonly at: string; readonly shows: 'empty' }
  /** A file of this computer that reads as empty. */
  | { readonly at: string; readonly shows: 'blank' }
  | { readonly at: string; readonly shows: 'link'; readonly to: string }
  /** A folder made inside of another mount. `mode`: octal. */
  | { readonly at: string; readonly shows: 'folder'; readonly mode?: string };

export interface Sandbox {
  /** In any order: an outer folder is mounted before the inner ones. `/proc` and `/dev` are the sandbox's own and not listed. */
  readonly mounts: readonly Mount[];
  /**
   * `host`: the network that the program would have without a sandbox. `none`: a loopback of its own and nothing else. `names`: that of what starts
   * bubblewrap, which is a loopback with the launcher of `own-network.ts` on it.
   */
  readonly network: 'host' | 'none' | 'names';
  /** Users of its own, in which nobody is root outside. `if-possible`: not where this computer forbids it. */
  readonly users?: 'own' | 'if-possible';
  /** A name of its own for the computer, and control groups that it sees as the topmost. */
  readonly hostName?: string;
  /** `none`: it cannot type into the terminal it was started from. `kept`: the terminal belongs to it. */
  readonly terminal: 'none' | 'kept';
  /** `alone`: it outlives the process that started it. */
  readonly ends: 'with-parent' | 'alone';
  readonly cwd: string;
}

/** Arguments of bwrap. None of them may come from the person who chose the command. */
export function bubblewrapWords(sandbox: Sandbox): string[] {
  const { network, users, hostName, terminal, ends, cwd } = sandbox;
  const mounts: [at: string, words: string[]][] = [
    ['/proc', ['--proc', '/proc']],
    ['/dev', ['--dev', '/dev']],
    ...sandbox.mounts.map((mount): [string, string[]] => [mount.at, mountWords(mount)]),
  ];
  mounts.sort(([a], [b]) => depthOf(a) - depthOf(b));
  return [
    ...['--unshare-pid', '--unshare-ipc', '--cap-drop', 'ALL'],
    ...(network === 'none' ? ['--unshare-net'] : []),
    ...(users === undefined ? [] : [users === 'own' ? '--unshare-user' : '--unshare-user-try']),
    ...(hostName === undefined ? [] : ['--unshare-uts', '--unshare-cgroup-try', '--hostname', hostName]),
    ...(terminal === 'none' ? ['--new-session'] : []),
    ...(ends === 'with-parent' ? ['--die-with-parent'] : []),
    ...mounts.flatMap(([, words]) => words),
    ...['--chdir', cwd],
  ];
}

function mountWords(mount: Mount): string[] {
  const { at } = mount;
  switch (mount.shows) {
    case 'read':
    case 'write':
      return [
        `${mount.shows === 'read' ? '--ro-bind' : '--bind'}${mount.ifThere === true ? '-try' : ''}`,
        mount.from ?? at,
        at,
      ];
    case 'empty':
      return ['--tmpfs', at];
    case 'blank':
      return ['--ro-bind', '/dev/null', at];
    case 'link':
      return ['--symlink', mount.to, at];
    case 'folder':
      return [...(mount.mode === undefined ? [] : ['--perms', mount.mode]), '--dir', at];
  }
}

const depthOf = (path: string): number => path.split('/').filter((part) => part !== '').length;

/** The system's programs, and the files that programs ask for libraries, certificates and the time zone. */
export function systemMounts(): Mount[] {
  const etc = [
    'alternatives',
    'ca-certificates',
    'ssl',
    'pki',
    'localtime',
    'ld.so.cache',
    'ld.so.conf',
    'ld.so.conf.d',
  ];
  return [
    { at: '/usr', shows: 'read' },
    ...['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'].flatMap(systemFolder),
    ...readIfThere(etc.map((name) => `/etc/${name}`)),
  ];
}

/** Files that say who this computer is and which others it knows: for a sandbox that has none of its own. */
export function hostMounts(): Mount[] {
  const names = ['passwd', 'group', 'nsswitch.conf', 'hosts', 'resolv.conf', 'protocols', 'services', 'mime.types'];
  return readIfThere(names.map((name) => `/etc/${name}`));
}

export function readIfThere(paths: readonly string[]): Mount[] {
  return paths.map((at) => ({ at, shows: 'read', ifThere: true }));
}

/** `/bin` is a link into `/usr` on most systems, a folder on some. */
function systemFolder(at: string): Mount[] {
  if (!existsSync(at)) return [];
  return [lstatSync(at).isSymbolicLink() ? { at, shows: 'link', to: readlinkSync(at) } : { at, shows: 'read' }];
}
