/**
 * A small network of this machine's own (root, Linux): places with an address each, joined by a switch, with nothing beyond.
 * A place's cable can be pulled. Everything has one random name; `close` ends what still runs there and takes all of it away.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';

export interface Place {
  /** `10.77.0.1` */
  readonly address: string;
  /** What runs `command` there, as its own process id. */
  command(...command: readonly [string, ...string[]]): [string, ...string[]];
  /** Pulls the cable: nothing comes, nothing goes, nobody is told. */
  cut(): void;
  /** Puts it back. */
  heal(): void;
}

export interface Network {
  /** Takes the place with this name, or makes it. */
  place(name: string): Place;
  close(): Promise<void>;
}

/** Whether this process may make one; says why not. */
export function noNetwork(): string | null {
  const name = `gantry-${randomBytes(3).toString('hex')}`;
  const { error, status, stderr } = spawnSync('ip', ['netns', 'add', name], { encoding: 'utf8' });
  if (error !== undefined) return `there is no \`ip\` (${error.message})`;
  if (status !== 0) return `a network namespace cannot be made: ${stderr.trim()}`;
  ip('netns', 'del', name);
  return null;
}

export function createNetwork(): Network {
  const suffix = randomBytes(3).toString('hex');
  const nameOf = (place: string) => `gantry-${suffix}-${place}`;
  const bridge = nameOf('switch');
  const places = new Map<string, Place>();
  ip('netns', 'add', bridge);
  ip('-n', bridge, 'link', 'add', 'switch', 'type', 'bridge');
  ip('-n', bridge, 'link', 'set', 'switch', 'up');

  function make(name: string): Place {
    const own = nameOf(name);
    const address = `10.77.0.${places.size + 1}`;
    ip('netns', 'add', own);
    ip('-n', own, 'link', 'set', 'lo', 'up');
    ip('-n', bridge, 'link', 'add', 'name', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', own);
    ip('-n', bridge, 'link', 'set', 'dev', name, 'master', 'switch', 'up');
    ip('-n', own, 'address', 'add', `${address}/24`, 'dev', 'eth0');
    ip('-n', own, 'link', 'set', 'eth0', 'up');
    return {
      address,
      command: (...command) => ['ip', 'netns', 'exec', own, ...command],
      cut: () => void ip('-n', bridge, 'link', 'set', 'dev', name, 'down'),
      heal: () => void ip('-n', bridge, 'link', 'set', 'dev', name, 'up'),
    };
  }

  return {
    place(name) {
      const place = places.get(name) ?? make(name);
      places.set(name, place);
      return place;
    },
    async close() {
      for (const name of [...places.keys()].map(nameOf)) {
        await endAll(name);
        ip('netns', 'del', name);
      }
      ip('netns', 'del', bridge);
      places.clear();
    },
  };
}

/** What runs in a namespace of ours was started by us, whoever its parent is by now. */
async function endAll(namespace: string): Promise<void> {
  for (let tries = 0; tries < 100; tries += 1) {
    const left = ip('netns', 'pids', namespace).split(/\s+/).filter(Boolean).map(Number);
    if (left.length === 0) return;
    for (const pid of left) {
      try {
        process.kill(pid, tries < 60 ? 'SIGTERM' : 'SIGKILL');
      } catch {
        // Gone already.
      }
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function ip(...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('ip', args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}
