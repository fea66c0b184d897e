/**
 * Where a task's command runs: in bubblewrap, which shows it the system's programs and its own folder and nothing else of this computer,
 * or, where there is none, as the worker itself, which is then said plainly. Must not know tasks.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';
import { type RunOptions, runProcess } from '../kit/process/run-process.ts';

export interface Sandbox {
  /** A sentence for whoever starts the worker. */
  readonly about: string;
  readonly closed: boolean;
  /**
   * How to run `command` with `folder` as its home and working folder, by whatever name it has in there. `env` is the command's, besides
   * PATH, HOME and LANG, over which it wins; nothing in it reaches what makes the sandbox.
   */
  wrap(command: readonly string[], folder: string, env: Environment): Wrapped;
}

export type Environment = Readonly<Record<string, string>>;
export type Wrapped = Required<Pick<RunOptions, 'command' | 'env'>> & Pick<RunOptions, 'aside'>;

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

function usual(path: string, home: string): Environment {
  return { PATH: path, HOME: home, LANG: 'C.UTF-8' };
}

/**
 * `program` is absolute, and its own environment is empty: a task that chose either would choose what runs outside. What the command
 * gets as its environment comes by a pipe, where nobody reads it as in a list of processes.
 */
function bubblewrap(program: string, network: boolean): Sandbox['wrap'] {
  return (command, folder, env) => ({
    command: [
      program,
      ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'task'],
      ...(network ? ['--share-net'] : []),
      ...shown.flatMap((path) => ['--ro-bind-try', path, path]),
      ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--bind', folder, inside, '--chdir', inside],
      ...['--clearenv', '--args', '3', '--', ...command],
    ],
    env: {},
    aside: Object.entries({ ...usual(systemPath, inside), ...env })
      .flatMap(([name, value]) => ['--setenv', name, value])
      .map((word) => `${word}\0`)
      .join(''),
  });
}

function open(about: string, path: string): Sandbox {
  return {
    about,
    closed: false,
    wrap: (command, folder, env) => ({
      command: [...command] as [string, ...string[]],
      env: { ...usual(path, folder), ...env },
    }),
  };
}

function programIn(path: string, name: string): string | null {
  for (const folder of path.split(delimiter).filter(isAbsolute)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not here.
    }
  }
  return null;
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
  const program = programIn(path, 'bwrap');
  if (program === null) return open(`bubblewrap (bwrap) is not installed: ${asYou}.`, path);
  const wrap = bubblewrap(program, network);
  const reach = network ? 'with the network' : 'without a network';
  const refused = (why: string) => open(`bubblewrap does not work here (${why.trim().slice(0, 200)}): ${asYou}.`, path);
  try {
    const { exitCode, stderr } = await runProcess({ ...wrap(['true'], '/tmp', {}), deadlineMs: probeMs });
    return exitCode === 0 ? { about: `Commands run in bubblewrap, ${reach}.`, closed: true, wrap } : refused(stderr);
  } catch (error) {
    return refused(String(error));
  }
}
