/** The network of a closed sandbox from inside: what leaves it goes to one socket, and everything else is refused at once. As root and as a user. */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import {
  findNetworkTools,
  inOwnNetwork,
  namesFiles,
  namesMounts,
  proxyVariables,
} from '../../../src/kit/sandbox/own-network.ts';
import { bubblewrapWords } from '../../../src/kit/sandbox/sandbox.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { echoRequest, listenOutside } from './outside.ts';

const path = process.env.PATH ?? '';
const tools = findNetworkTools(path);
const isRoot = process.getuid?.() === 0;
const enginePort = 3011;
/** Another user, as whom only root can run anything. */
const asNobody = ['setpriv', '--reuid', '65534', '--regid', '65534', '--clear-groups', '--'] as const;

interface World {
  readonly socket: string;
  command(line: string, more?: { nft?: string }): [string, ...string[]];
  run(line: string, more?: { nft?: string; env?: Record<string, string> }): ReturnType<typeof runProcess>;
}

function world(as: 'root' | 'user'): World {
  const folder = scratchFolder();
  chmodSync(folder, 0o755);
  const etc = join(folder, 'etc');
  mkdirSync(etc);
  for (const [name, text] of Object.entries(namesFiles('box'))) writeFileSync(join(etc, name), text);
  const socket = join(folder, 'out.sock');
  const sandbox = bubblewrapWords({
    mounts: [{ at: '/', shows: 'read' }, ...namesMounts(etc)],
    ...{ network: 'names', terminal: 'kept', ends: 'with-parent', cwd: '/' },
  });
  const command: World['command'] = (line, { nft } = {}) => {
    if (typeof tools === 'string') throw new Error(tools);
    const inner = ['bwrap', ...sandbox, '--', '/bin/sh', '-c', line] as const;
    const order = { socket, ports: [80, 443, 22], local: [{ host: 'localhost', port: 4000 }], enginePort };
    const given = { ...tools, nft: nft ?? tools.nft };
    const words = inOwnNetwork(given, programCommand('sandbox-launch'), order, inner, as === 'root');
    return isRoot && as === 'user' ? [...asNobody, ...words] : words;
  };
  return {
    socket,
    command,
    run: (line, { env, ...more } = {}) =>
      runProcess({ command: command(line, more), env: { PATH: path, ...env }, deadlineMs: 20_000 }),
  };
}

const works =
  typeof tools !== 'string' &&
  (await runProcess({
    command: ['bwrap', '--ro-bind', '/', '/', '--unshare-net', 'true'],
    env: { PATH: path },
    deadlineMs: 10_000,
  }).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  ));

/** Says how a connection ends: what came, or why there was none. */
const connectTo = (host: string, port: number) =>
  `${process.execPath} -e 'const s = require("net").connect(${port}, "${host}"); s.on("error", (e) => console.log(e.code)); s.on("data", (d) => { console.log(String(d)); s.end(); })'`;

for (const as of isRoot ? (['root', 'user'] as const) : (['user'] as const)) {
  describe.skipIf(!works)(`as ${as}`, () => {
    test('a program reaches names, the proxy and Gantry through the socket, which hears what each is', async () => {
      const { socket, run } = world(as);
      const { lines } = await listenOutside(socket, echoRequest);
      const { stdout, stderr } = await run(
        `curl -sS http://one.example/a; echo; curl -sS -x $HTTP_PROXY http://two.example/b; echo; curl -sS http://127.0.0.1:${enginePort}/c; curl -sS http://localhost:4000/d`,
        { env: { HTTP_PROXY: proxyVariables().HTTP_PROXY ?? '' } },
      );
      expect([stdout, stderr]).toEqual([
        'GET /a HTTP/1.1\nGET http://two.example/b HTTP/1.1\nGET /c HTTP/1.1GET /d HTTP/1.1',
        '',
      ]);
      expect(lines).toEqual([
        { way: 'tcp', host: 'one.example', port: 80 },
        { way: 'proxy', host: null, port: 0 },
        { way: 'engine', host: null, port: 0 },
        { way: 'tcp', host: 'localhost', port: 4000 },
      ]);
    });

    test('addresses, other ports, UDP and IPv6 are refused at once, and nobody outside hears of them', async () => {
      const { socket, run } = world(as);
      const { lines } = await listenOutside(socket, echoRequest);
      const udp = `${process.execPath} -e 'const s = require("dgram").createSocket("udp4"); s.on("error", (e) => { console.log(e.code); s.close(); }); s.connect(443, "one.example", () => s.send("x"))'`;
      const { stdout } = await run(
        [
          connectTo('93.184.216.34', 443),
          connectTo('169.254.169.254', 80),
          connectTo('2606:2800:220:1::1', 443),
          connectTo('one.example', 5432),
          // In the range of names, but no name has it.
          connectTo('198.18.200.200', 443),
          udp,
        ].join('; '),
      );
      expect(stdout.trim().split('\n')).toEqual([
        'ENETUNREACH',
        'ENETUNREACH',
        'ENETUNREACH',
        'ECONNREFUSED',
        'ECONNRESET',
        'ECONNREFUSED',
      ]);
      expect(lines).toEqual([]);
    });

    test('it has servers of its own, on the ports of names too, and cannot change its network', async () => {
      const { socket, run } = world(as);
      const { lines } = await listenOutside(socket, echoRequest);
      const serve = `require("http").createServer((q, a) => a.end("own")).listen(8080, "0.0.0.0", function () { require("http").get("http://localhost:8080/", (a) => a.on("data", (d) => { console.log(String(d)); process.exit(); })); })`;
      const { stdout } = await run(
        `${process.execPath} -e '${serve}'; ip link set lo down 2>&1 | grep -c permitted; nft flush ruleset 2>/dev/null || echo kept; curl -sS http://one.example/`,
      );
      expect(stdout).toBe('own\n1\nkept\nGET / HTTP/1.1');
      expect(lines).toHaveLength(1);
    });

    test('a half that ended is passed on, while the other goes on', async () => {
      const { socket, run } = world(as);
      await listenOutside(socket, (connection) => {
        let size = 0;
        connection.on('data', (piece: Buffer) => {
          size += piece.length;
        });
        connection.on('end', () => connection.end(`got ${size}`));
        connection.resume();
      });
      const half = `${process.execPath} -e 'const s = require("net").connect(443, "whole.example"); s.end(Buffer.alloc(3000000)); s.on("data", (d) => console.log(String(d)))'`;
      expect((await run(half)).stdout).toBe('got 3000000\n');
    });

    test('while nobody listens outside everything is refused at once, and works when somebody does again', async () => {
      const { socket, run, command } = world(as);
      const line = 'curl -sS http://one.example/ || curl -sS -x http://127.0.0.1:3128 http://one.example/';
      const { stdout, stderr } = await run(line);
      expect(stderr).toContain('curl:');
      expect(stdout).toContain('Gantry is not running');
      const [program, ...args] = command('until curl -fsS http://one.example/ 2>/dev/null; do echo wait; done');
      const child = spawn(program, args, { env: { PATH: path }, stdio: ['ignore', 'pipe', 'inherit'] });
      child.stdout.setEncoding('utf8');
      let said = '';
      for await (const piece of child.stdout) {
        if (said === '') await listenOutside(socket, echoRequest);
        said += piece;
      }
      expect(said).toMatch(/^(?:wait\n)+GET \/ HTTP\/1\.1$/);
    });

    test('it ends as its program does, and leaves signals of the terminal to it', async () => {
      const { run } = world(as);
      expect((await run('exit 7')).exitCode).toBe(7);
      expect((await run('kill -KILL $$')).exitCode).toBe(137);
    });

    test('when it is killed, nothing of what it started goes on', async () => {
      const { command } = world(as);
      const [program, ...args] = command('echo up; sleep 600');
      const child = spawn(program, args, { env: { PATH: path }, stdio: ['ignore', 'pipe', 'inherit'] });
      const ended = new Promise((resolve) => child.stdout.once('close', resolve));
      await new Promise((resolve) => child.stdout.once('data', resolve));
      // A user is changed, and namespaces are entered, without another process.
      child.kill('SIGKILL');
      // The sleeping program holds the pipe open as long as it lives.
      await ended;
    });

    test('where the network cannot be made, it says why and starts nothing', async () => {
      const { run, socket } = world(as);
      const { exitCode, stdout, stderr } = await run('echo started', { nft: '/bin/false' });
      expect([exitCode, stdout]).toEqual([125, '']);
      expect(stderr).toContain('The network of this sandbox cannot be made: /bin/false failed');
      expect(existsSync(socket)).toBe(false);
    });
  });
}

test('a missing program is named with what it is part of', () => {
  const none = findNetworkTools('/nowhere');
  // Found also where only root looks.
  if (typeof none === 'string') expect(none).toMatch(/^`\w+`, which is part of [a-z0-9-]+, is not installed$/);
  else expect(readFileSync(none.ip)).not.toHaveLength(0);
});
