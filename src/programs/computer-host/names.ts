/**
 * DHCP and DNS of one computer, at its gateway and nowhere else on this machine: one dnsmasq process each. It ends with the helper; the next helper
 * starts a new one. Answers that name private addresses are dropped. Must not know what runs in a computer.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import type { Addresses } from './network.ts';
import { HostError } from './tools.ts';

export interface NameServer {
  end(): Promise<void>;
}

interface NameServerOptions {
  readonly path: string;
  readonly interfaceName: string;
  readonly addresses: Addresses;
  /** Empty: those of this machine. */
  readonly upstream: readonly string[];
  /** It ended on its own. */
  readonly onEnd: () => void;
}

/** Ranges missing from dnsmasq's own list of private ranges. */
const alsoPrivate = [
  '0.0.0.0/8',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '64:ff9b::/96',
  '64:ff9b:1::/48',
  '2002::/16',
  'fec0::/10',
  'ff00::/8',
];
/** A user that owns nothing. */
const nobody = 65_534;
/** Milliseconds. */
const answersWithin = 5000;

function nameServerWords({ interfaceName, addresses, upstream }: NameServerOptions): string[] {
  const { gateway4, computer4 } = addresses;
  return [
    '--keep-in-foreground',
    '--conf-file=/dev/null',
    '--no-hosts',
    '--bind-interfaces',
    `--interface=${interfaceName}`,
    '--except-interface=lo',
    `--listen-address=${gateway4}`,
    `--dhcp-range=${computer4},${computer4},255.255.255.252,12h`,
    // No lease file: there is one address and one client for it.
    '--dhcp-leasefile=/dev/null',
    '--leasefile-ro',
    '--dhcp-authoritative',
    '--no-ping',
    '--stop-dns-rebind',
    '--domain-needed',
    '--bogus-priv',
    '--cache-size=1000',
    '--dns-forward-max=150',
    '--log-facility=/dev/null',
    ...alsoPrivate.map((range) => `--bogus-nxdomain=${range}`),
    ...(upstream.length === 0 ? [] : ['--no-resolv', ...upstream.map((server) => `--server=${server}`)]),
  ];
}

/** Resolves once it answers. */
export async function startNameServer(options: NameServerOptions): Promise<NameServer> {
  const powers = '+net_bind_service,+net_raw,+net_admin';
  const child = spawn(
    'setpriv',
    [
      ...['--reuid', String(nobody), '--regid', String(nobody), '--clear-groups', '--no-new-privs'],
      ...['--inh-caps', powers, '--ambient-caps', powers, '--bounding-set', `-all,${powers}`, '--pdeathsig', 'KILL'],
      ...['dnsmasq', ...nameServerWords(options)],
    ],
    { stdio: ['ignore', 'ignore', 'pipe'], env: { PATH: options.path, LC_ALL: 'C' } },
  );
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-600);
  });
  let wanted = true;
  const ended = new Promise<never>((_, reject) => {
    const fail = (why: string) => {
      const failed = new HostError('failed', `DNS and DHCP for computers failed: ${why}`);
      reject(failed);
      if (wanted) options.onEnd();
    };
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code) => fail(said.trim() || `dnsmasq ended with ${code}`));
  });
  ended.catch(() => {});
  const end = async () => {
    wanted = false;
    await endChild(child);
  };
  try {
    await Promise.race([answering(options.addresses.gateway4), ended]);
  } catch (error) {
    await end();
    throw error;
  }
  return { end };
}

function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return Promise.resolve();
  return new Promise((resolve) => {
    child.once('exit', () => resolve());
    child.kill('SIGKILL');
  });
}

/** A query for its own version, which it answers itself. */
async function answering(address: string): Promise<void> {
  const question = Buffer.from('000100000001000000000000' + '0776657273696f6e0462696e6400' + '00100003', 'hex');
  const until = performance.now() + answersWithin;
  while (performance.now() < until) {
    if (await asked(address, question)) return;
  }
  throw new HostError('timeout', `The name server at ${address} did not answer in time.`);
}

function asked(address: string, question: Buffer): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createSocket('udp4');
    const done = (answered: boolean) => {
      clearTimeout(timer);
      socket.close();
      resolve(answered);
    };
    const timer = setTimeout(done, 20, false);
    socket.once('message', () => done(true));
    socket.once('error', () => done(false));
    socket.send(question, 53, address, (error) => {
      if (error) done(false);
    });
  });
}
