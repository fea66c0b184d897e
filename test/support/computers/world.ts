/**
 * A world around a machine that makes computers, in network namespaces of its own (root, Linux): the machine has public and private
 * addresses of its own, and beyond it are public and private addresses on which somebody listens. Nothing of it is this machine's network.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { fileURLToPath } from 'node:url';

export const world = {
  public4: '93.184.216.34',
  otherPublic4: '8.8.4.4',
  public6: '2606:2800:220:1::34',
  nameServer: '9.9.9.9',
  /** Of the machine itself. */
  uplink4: '185.199.108.2',
  uplink6: '2a00:1450:4001::2',
  second4: '192.168.50.1',
  /** A public address that is on the machine's loopback. */
  own4: '45.33.32.9',
  own6: '2a01:4f8::9',
} as const;

const beyond4 = [
  world.public4,
  world.otherPublic4,
  world.nameServer,
  '10.9.9.9',
  '172.16.5.5',
  '192.168.77.7',
  '100.64.7.7',
  '169.254.169.254',
  '198.18.0.5',
];
const beyond6 = [world.public6, 'fd00:9::9', '64:ff9b::a09:909', '2002:a09:909::1', '2001:db8::9'];

/** Names whose answers name what nobody outside may name. */
export const privateNames: readonly (readonly [name: string, address: string])[] = [
  ['ten.example', '10.9.9.9'],
  ['one-seven-two.example', '172.16.5.5'],
  ['one-nine-two.example', '192.168.77.7'],
  ['metadata.example', '169.254.169.254'],
  ['shared.example', '100.64.7.7'],
  ['loopback.example', '127.0.0.1'],
  ['unspecified.example', '0.0.0.0'],
  ['benchmark.example', '198.18.0.5'],
  ['unique-local.example', 'fd00:9::9'],
  ['link-local.example', 'fe80::1'],
  ['loopback6.example', '::1'],
  ['mapped.example', '::ffff:10.9.9.9'],
  ['nat64.example', '64:ff9b::a09:909'],
  ['six-to-four.example', '2002:a09:909::1'],
];

export interface World {
  /** Namespace of the machine: `nsenter --net=/run/netns/<this>`. */
  readonly machine: string;
  readonly beyond: string;
  /** Words before a command that is to run on the machine. */
  on(place: 'machine' | 'beyond'): [string, ...string[]];
  /** Listens on 25 and 8080 of every address there, and on `host port` of the others; resolves once it does. */
  listen(namespace: string, others?: readonly string[]): Promise<void>;
  /** What came to UDP 8080 beyond: `source text`. */
  readonly datagrams: readonly string[];
  /** So that what is sent from beyond finds the computers of the machine. */
  route4(subnet: string): void;
  route6(subnet: string): void;
  close(): void;
}

const listener = fileURLToPath(new URL('./listener.ts', import.meta.url));

export async function createWorld(): Promise<World> {
  const suffix = randomBytes(3).toString('hex');
  const [machine, beyond] = [`gantry-${suffix}-machine`, `gantry-${suffix}-beyond`];
  const children: ChildProcess[] = [];
  const enter = (namespace: string): [string, ...string[]] => ['nsenter', `--net=/run/netns/${namespace}`, '--'];
  const datagrams: string[] = [];
  const run = (namespace: string, ...command: [string, ...string[]]): ChildProcess => {
    const [program, ...words] = [...enter(namespace), ...command];
    const child = spawn(program as string, words, { stdio: ['ignore', 'pipe', 'ignore'] });
    children.push(child);
    return child;
  };
  for (const name of [machine, beyond]) {
    ip('netns', 'add', name);
    ip('-n', name, 'link', 'set', 'lo', 'up');
  }
  ip('-n', machine, 'link', 'add', 'up0', 'type', 'veth', 'peer', 'name', 'w0', 'netns', beyond);
  ip('-n', machine, 'link', 'set', 'up0', 'up');
  ip('-n', beyond, 'link', 'set', 'w0', 'up');
  const add = (namespace: string, device: string, address: string) =>
    ip('-n', namespace, 'address', 'add', address, 'dev', device, ...(address.includes(':') ? ['nodad'] : []));
  add(machine, 'up0', `${world.uplink4}/24`);
  add(machine, 'up0', `${world.uplink6}/64`);
  add(machine, 'up0', `${world.second4}/24`);
  add(machine, 'lo', `${world.own4}/32`);
  add(machine, 'lo', `${world.own6}/128`);
  add(beyond, 'w0', '185.199.108.1/24');
  add(beyond, 'w0', '2a00:1450:4001::1/64');
  for (const address of beyond4) add(beyond, 'lo', `${address}/32`);
  for (const address of beyond6) add(beyond, 'lo', `${address}/128`);
  ip('-n', machine, 'route', 'add', 'default', 'via', '185.199.108.1');
  ip('-n', machine, '-6', 'route', 'add', 'default', 'via', '2a00:1450:4001::1');
  run(
    beyond,
    'dnsmasq',
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--no-resolv',
    '--no-hosts',
    '--bind-interfaces',
    `--listen-address=${world.nameServer}`,
    '--user=nobody',
    `--address=/public.example/${world.public4}`,
    `--address=/public.example/${world.public6}`,
    ...privateNames.map(([name, address]) => `--address=/${name}/${address}`),
  );
  const listen = (namespace: string, others: readonly string[] = []) =>
    new Promise<void>((resolve) => {
      const child = run(namespace, process.execPath, listener, ...others);
      let rest = '';
      child.stdout?.on('data', (chunk: Buffer) => {
        const lines = (rest + chunk.toString('utf8')).split('\n');
        rest = lines.pop() as string;
        for (const line of lines) {
          if (line === 'ready') resolve();
          else if (namespace === beyond) datagrams.push(line);
        }
      });
    });
  const own = [world.uplink4, world.second4, world.own4, world.uplink6];
  await Promise.all([
    listen(
      machine,
      own.map((address) => `${address} 53`),
    ),
    listen(beyond),
  ]);
  return {
    machine,
    beyond,
    on: (place) => enter(place === 'machine' ? machine : beyond),
    listen,
    datagrams,
    route4: (subnet) => ip('-n', beyond, 'route', 'add', subnet, 'via', world.uplink4),
    route6: (subnet) => ip('-n', beyond, '-6', 'route', 'add', subnet, 'via', world.uplink6),
    close() {
      for (const child of children) child.kill('SIGKILL');
      for (const name of [machine, beyond]) ip('netns', 'del', name);
    },
  };
}

export function ip(...words: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync('ip', words, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`ip ${words.join(' ')}: ${stderr.trim()}`);
  return stdout;
}
