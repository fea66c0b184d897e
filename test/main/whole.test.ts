/** The desktop program whole, as a process with its real servers; only the module `electron` is a substitute. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { openDesktop } from '../../src/host/desktop.ts';
import { placesIn } from '../../src/host/places.ts';
import { findRunning } from '../../src/host/running.ts';

const root = new URL('../..', import.meta.url).pathname;

interface App {
  readonly home: string;
  readonly env: Record<string, string | undefined>;
  readonly child: ChildProcess;
  /** The next line of the substitute with this member. */
  see(member: string): Promise<Record<string, unknown>>;
  tell(line: string): void;
  ended(): Promise<number | null>;
}

function scratch(): string {
  const home = mkdtempSync(join(tmpdir(), 'gantry-app-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return home;
}
const envOf = (home: string) => ({
  ...process.env,
  GANTRY_HOME: home,
  GANTRY_PORT: '0',
  GANTRY_ENGINE_PORT: '0',
  GANTRY_PEER_PORT: '0',
});

function start(home = scratch()): App {
  const env = envOf(home);
  const words = ['--import', join(root, 'test/support/electron-stub.ts'), join(root, 'src/main/main.ts')];
  const child = spawn(process.execPath, words, { env, stdio: ['pipe', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const seen: Record<string, unknown>[] = [];
  createInterface({ input: child.stdout! }).on('line', (line) => seen.push(JSON.parse(line)));
  const end = once(child, 'exit').then(([code]) => code as number | null);
  return {
    home,
    env,
    child,
    async see(member) {
      await expect.poll(() => seen.some((one) => member in one), { message: member }).toBe(true);
      return seen.splice(
        seen.findIndex((one) => member in one),
        1,
      )[0]!;
    },
    tell: (line) => void child.stdin?.write(`${line}\n`),
    ended: () => end,
  };
}

test('the app starts servers, shows their page with a cookie that is good, is led by links, and ends in order', async () => {
  const app = start();
  expect(await app.see('crashReporter')).toEqual({ crashReporter: { uploadToServer: false } });
  expect(await app.see('path')).toEqual({ path: 'userData', to: join(app.home, 'desktop') });
  expect(await app.see('cookie')).toMatchObject({ httpOnly: true, sameSite: 'strict' });
  const origin = findRunning(app.env)?.address;
  expect(await app.see('load')).toEqual({ load: `${origin}/`, session: 200 });
  expect(await app.see('tip')).toEqual({ tip: 'Gantry: 0 panes live, 0 runs' });
  app.tell('link gantry://inbox');
  app.tell('quit');
  expect(await app.see('exit')).toEqual({ exit: 0 });
  expect(await app.ended()).toBe(0);
  expect(findRunning(app.env)).toBeNull();
  const lines = readFileSync(join(placesIn(app.home).logs, 'desktop.log'), 'utf8')
    .trim()
    .split('\n');
  expect(lines.map((line) => JSON.parse(line).message)).toEqual([
    'The desktop program shows Gantry.',
    'The desktop program ends.',
  ]);
});

test('where servers run already the app attaches to them, and its end is not theirs', async () => {
  const home = scratch();
  const own = await openDesktop({ env: envOf(home) });
  onTestFinished(() => own.close());
  const app = start(home);
  expect(await app.see('load')).toMatchObject({ load: `${own.origin}/`, session: 200 });
  app.child.kill('SIGTERM');
  expect(await app.ended()).toBe(0);
  expect((await fetch(`${own.origin}/api/factory/health`)).status).toBe(200);
});

test('a fault that nobody caught is written down, the servers close, and the app ends with 70', async () => {
  const app = start();
  await app.see('load');
  app.tell('fault');
  expect(await app.ended()).toBe(70);
  expect(findRunning(app.env)).toBeNull();
  const log = readFileSync(join(placesIn(app.home).logs, 'desktop.log'), 'utf8');
  expect(log).toContain('The desktop program met a fault that nobody caught.');
});

test('an app that was killed leaves nothing that keeps the next one from starting', async () => {
  const app = start();
  await app.see('load');
  app.child.kill('SIGKILL');
  await app.ended();
  const next = start(app.home);
  expect(await next.see('load')).toMatchObject({ session: 200 });
  next.tell('quit');
  expect(await next.ended()).toBe(0);
});
