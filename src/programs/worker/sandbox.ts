/**
 * Runs a task's command in bubblewrap, where it sees the system's programs, its own folder and nothing else of this computer. Without bubblewrap the
 * command runs as the worker's user, and the worker says so. Must not know tasks.
 */
import { type Bubblewrap, type Environment, findBubblewrap, type Wrapped } from '../../kit/process/bubblewrap.ts';

export interface Sandbox {
  /** A sentence for the person who starts the worker. */
  readonly about: string;
  readonly closed: boolean;
  /**
   * How to run `command` with `folder` as its home and working folder, by whatever name it has in there. `env` is the command's, besides
   * PATH, HOME and LANG, over which it wins; nothing in it reaches what makes the sandbox.
   */
  wrap(command: readonly string[], folder: string, env: Environment): Wrapped;
}

interface SandboxWish {
  readonly wanted: boolean;
  /** Commands may reach the network. Only a sandbox can keep them from it. */
  readonly network: boolean;
  readonly path: string;
  readonly platform?: NodeJS.Platform;
}

const inside = '/work';
const systemPath = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
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

function baseEnvironment(path: string, home: string): Environment {
  return { PATH: path, HOME: home, LANG: 'C.UTF-8' };
}

function words(folder: string, network: boolean): string[] {
  return [
    ...['--unshare-all', '--die-with-parent', '--new-session', '--cap-drop', 'ALL', '--hostname', 'task'],
    ...(network ? ['--share-net'] : []),
    ...shown.flatMap((path) => ['--ro-bind-try', path, path]),
    ...['--proc', '/proc', '--dev', '/dev', '--tmpfs', '/tmp', '--bind', folder, inside, '--chdir', inside],
  ];
}

function closed(bubblewrap: Bubblewrap, network: boolean): Sandbox['wrap'] {
  return (command, folder, env) =>
    bubblewrap.wrap({
      words: words(folder, network),
      command,
      env: { ...baseEnvironment(systemPath, inside), ...env },
    });
}

function open(about: string, path: string): Sandbox {
  return {
    about,
    closed: false,
    wrap: (command, folder, env) => ({
      command: [...command] as [string, ...string[]],
      env: { ...baseEnvironment(path, folder), ...env },
    }),
  };
}

/** Tries it, and says what it found. */
export async function findSandbox({ wanted, network, path, platform }: SandboxWish): Promise<Sandbox> {
  const asYou = 'commands run as you, with your files and your network';
  if (!wanted) return open(`No sandbox, as you asked: ${asYou}.`, path);
  const found = await findBubblewrap({
    path,
    words: words('/tmp', network),
    ...(platform === undefined ? {} : { platform }),
  });
  if (typeof found === 'string') return open(`${found.charAt(0).toUpperCase()}${found.slice(1)}: ${asYou}.`, path);
  const reach = network ? 'with network access' : 'without network access';
  return { about: `Commands run in bubblewrap, ${reach}.`, closed: true, wrap: closed(found, network) };
}
