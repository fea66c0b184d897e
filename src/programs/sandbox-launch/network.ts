/**
 * The network of a sandbox, seen from inside: a loopback, and on it everything that a program may speak to. Runs in a network namespace of its own, in
 * which nothing else is, so an address that is not served here is unreachable.
 */
import { execFile } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import type { LaunchOrder } from '../../kit/sandbox/launch-order.ts';
import { proxyAddress } from '../../kit/sandbox/launch-order.ts';
import { answer } from './dns.ts';
import { createNames, namesNetwork } from './names.ts';
import { relay } from './relay.ts';

/** Ports on which connections to names are accepted, one for each port of a name, above those that the kernel assigns. */
const firstListener = 61_000;
/** Of one listener. */
const maxConnections = 512;

export async function serveNetwork({ socket, ports, local, enginePort, tools }: LaunchOrder): Promise<void> {
  // Beside it: the rules need no address yet, and to listen does.
  const redirected = run(tools.nft, ['-f', '-'], redirects(ports));
  redirected.catch(() => {});
  await run(tools.ip, ['-batch', '-'], `link set lo up\nroute add local ${namesNetwork} dev lo\n`);
  const names = createNames();
  const byName = ports.map((port, index) =>
    listen({ port: firstListener + index, host: '0.0.0.0' }, (inside) => {
      const host = names.nameAt(inside.localAddress ?? '');
      // An address that no name led to.
      if (host === undefined) inside.resetAndDestroy();
      else relay(inside, socket, { way: 'tcp', host, port });
    }),
  );
  const [proxyHost = '', proxyPort = ''] = proxyAddress.split(':');
  await Promise.all([
    redirected,
    answerNames(names.addressOf),
    ...byName,
    ...local.map(({ host, port }) =>
      listen({ port, host: '127.0.0.1' }, (inside) => relay(inside, socket, { way: 'tcp', host, port })),
    ),
    listen({ port: Number(proxyPort), host: proxyHost }, (inside) =>
      relay(inside, socket, { way: 'proxy', host: null, port: 0 }),
    ),
    listen({ port: enginePort, host: '127.0.0.1' }, (inside) =>
      relay(inside, socket, { way: 'engine', host: null, port: 0 }),
    ),
  ]);
}

/** The port changes and the address stays, by which the name is known. Programs of the sandbox may still listen on such a port themselves. */
function redirects(ports: readonly number[]): string {
  const rules = ports.map(
    (port, index) => `ip daddr ${namesNetwork} tcp dport ${port} dnat to :${firstListener + index}`,
  );
  const chain = ['chain out {', 'type nat hook output priority -100', ...rules, '}'];
  return `${['table ip gantry {', ...chain, '}'].join('\n')}\n`;
}

async function listen(at: { readonly port: number; readonly host: string }, take: (inside: Socket) => void) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, take);
  server.maxConnections = maxConnections;
  server.listen(at);
  await once(server, 'listening');
  // A connection that cannot be taken, such as with too many open: its program sees it closed.
  server.on('error', () => {});
}

async function answerNames(addressOf: (name: string) => string): Promise<void> {
  const server = createSocket('udp4');
  server.bind(53, '127.0.0.1');
  await once(server, 'listening');
  server.on('error', () => {});
  server.on('message', (message, from) => {
    const answered = answer(message, addressOf);
    // The program may be gone.
    if (answered !== null) server.send(answered, from.port, from.address, () => {});
  });
}

function run(file: string, args: readonly string[], input: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = execFile(file, args, { env: {} }, (error, _, stderr) => {
      if (error === null) resolve();
      else reject(new Error(`${file} failed: ${stderr.trim() || error.message}`));
    });
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}
