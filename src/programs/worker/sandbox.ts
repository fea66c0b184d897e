/**
 * Runs a task's command in bubblewrap, where it sees the system's programs, its own folder and nothing else of this computer. Without bubblewrap the
 * command runs as the worker's user, and the worker says so. Must not know tasks.
 */
import { type Bubblewrap, type Environment, findBubblewrap, type Wrapped } from '../../kit/sandbox/bubblewrap.ts';
import { hostMounts, type Sandbox as KitSandbox, systemMounts } from '../../kit/sandbox/sandbox.ts';

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
function baseEnvironment(path: string, home: string): Environment {
  return { PATH: path, HOME: home, LANG: 'C.UTF-8' };
}

function sandboxOf(folder: string, network: boolean): KitSandbox {
  return {
    mounts: [
      ...systemMounts(),
      ...hostMounts(),
      { at: '/tmp', shows: 'empty' },
      { at: inside, shows: 'write', from: folder },
    ],
    network: network ? 'host' : 'none',
    users: 'if-possible',
    hostName: 'task',
    terminal: 'none',
    ends: 'with-parent',
    cwd: inside,
  };
}

function closed(bubblewrap: Bubblewrap, network: boolean): Sandbox['wrap'] {
  return (command, folder, env) =>
    bubblewrap.wrap({
      sandbox: sandboxOf(folder, network),
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
    sandbox: sandboxOf('/tmp', network),
    ...(platform === undefined ? {} : { platform }),
  });
  if (typeof found === 'string') return open(`${found.charAt(0).toUpperCase()}${found.slice(1)}: ${asYou}.`, path);
  const reach = network ? 'with network access' : 'without network access';
  const about = [`Commands run in bubblewrap, ${reach}.`, ...found.unheld].join(' ');
  return { about, closed: true, wrap: closed(found, network) };
}
