/**
 * Where a task's command runs: in bubblewrap, which shows it the system's programs and its own folder and nothing else of this computer,
 * or, where there is none, as the worker itself, which is then said plainly. Must not know tasks.
 */
import { runProcess } from '../kit/process/run-process.ts';

export interface Sandbox {
  /** A sentence for whoever starts the worker. */
  readonly about: string;
  readonly closed: boolean;
  /** argv that runs `command` with `folder` as its home and working folder, by whatever name it has in there. */
  wrap(command: readonly string[], folder: string): { argv: [string, ...string[]]; home: string; path: string };
}

export interface SandboxWish {
  readonly wanted: boolean;
  /** Commands may reach the network. Only a sandbox can keep them from it. */
  readonly network: boolean;
  readonly path: string;
  readonly platform?: NodeJS.Platform;
}

const inside = '/work';
const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const probeMs = 10_000;
/** Programs, and the few files that programs ask for names, certificates and time zones. */
const shown = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32'],
  ...['alternatives', 'ca-certificates', 'ssl', 'pki', 'localtime', 'ld.so.cache', 'ld.so.conf', 'ld.so.conf.d'].map(
    inEtc,
  ),
  ...['passwd', 'group', 'nsswitch.conf', 'hosts', 'resolv.conf', 'protocols', 'services', 'mime.types'].map(inEtc),
];

function inEtc(name: string): string {
  return `/etc/${name}`;
}

function bubblewrap(network: boolean): Sandbox['wrap'] {
  return (command, folder) => ({
    argv: [
      'bwrap',
      ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'task'],
      ...(network ? ['--share-net'] : []),
      ...shown.flatMap((path) => ['--ro-bind-try', path, path]),
      ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--bind', folder, inside, '--chdir', inside, '--'],
      ...command,
    ],
    home: inside,
    path: systemPath,
  });
}

function open(about: string, path: string): Sandbox {
  return {
    about,
    closed: false,
    wrap: (command, folder) => ({ argv: [...command] as [string, ...string[]], home: folder, path }),
  };
}

/** Tries it: that the program is there says nothing about whether this computer lets it work. */
export async function findSandbox({
  wanted,
  network,
  path,
  platform = process.platform,
}: SandboxWish): Promise<Sandbox> {
  const asYou = 'commands run as you, with your files and your network';
  if (!wanted) return open(`No sandbox, as you asked: ${asYou}.`, path);
  if (platform !== 'linux') return open(`There is no sandbox on this system: ${asYou}.`, path);
  const wrap = bubblewrap(network);
  const reach = network ? 'with the network' : 'without a network';
  try {
    const { argv } = wrap(['true'], '/tmp');
    const { exitCode, stderr } = await runProcess({ command: argv, env: { PATH: path }, deadlineMs: probeMs });
    if (exitCode === 0) return { about: `Commands run in bubblewrap, ${reach}.`, closed: true, wrap };
    return open(`bubblewrap does not work here (${stderr.trim().slice(0, 200)}): ${asYou}.`, path);
  } catch {
    return open(`bubblewrap (bwrap) is not installed: ${asYou}.`, path);
  }
}
