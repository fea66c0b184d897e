/**
 * A small network of this machine's own (root, Linux): places with an address each, joined by a switch, with nothing beyond.
 * A place's cable can be pulled. Everything has one random name; `close` ends what still runs there and takes all of it away.
 */
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';

/** Plain data: a program that runs in one place may be told of the others. */
export interface Place {
  readonly name: string;
  /** `10.77.0.1` */
  readonly address: string;
  readonly namespace: string;
  /** Namespace of the switch, where the other ends of all cables are. */
  readonly bridge: string;
}

export interface Network {
  /** Makes a place. */
  place(name: string): Place;
  close(): Promise<void>;
}

/** The command line that runs `command` there, in the process that starts it. */
export function commandIn(place: Place, ...command: readonly [string, ...string[]]): [string, ...string[]] {
  return ['ip', 'netns', 'exec', place.namespace, ...command];
}

/** Pulls the cable: nothing comes in or goes out, and no end learns of it. */
export function cut({ bridge, name }: Place): void {
  ip('-n', bridge, 'link', 'set', 'dev', name, 'down');
}

/** Puts it back. */
export function heal({ bridge, name }: Place): void {
  ip('-n', bridge, 'link', 'set', 'dev', name, 'up');
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
  const bridge = `gantry-${suffix}-switch`;
  const places: Place[] = [];
  ip('netns', 'add', bridge);
  ip('-n', bridge, 'link', 'add', 'switch', 'type', 'bridge');
  ip('-n', bridge, 'link', 'set', 'switch', 'up');
  return {
    place(name) {
      const place = { name, address: `10.77.0.${places.length + 1}`, namespace: `gantry-${suffix}-${name}`, bridge };
      const { namespace, address } = place;
      ip('netns', 'add', namespace);
      places.push(place);
      ip('-n', namespace, 'link', 'set', 'lo', 'up');
      ip('-n', bridge, 'link', 'add', 'name', name, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
      ip('-n', bridge, 'link', 'set', 'dev', name, 'master', 'switch', 'up');
      ip('-n', namespace, 'address', 'add', `${address}/24`, 'dev', 'eth0');
      ip('-n', namespace, 'link', 'set', 'eth0', 'up');
      return place;
    },
    async close() {
      for (const { namespace } of places.splice(0)) {
        await endAll(namespace);
        ip('netns', 'del', namespace);
      }
      ip('netns', 'del', bridge);
    },
  };
}

/** Every process in one of our namespaces was started by us, whatever its parent is now. */
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
