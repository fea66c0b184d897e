/** The real product as a person starts it: `gantry start --headless`, with a home of its own, and the ways it ends. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freshBuild } from '../../support/fresh-build.ts';
import { agreeToAll } from '../../support/trust.ts';
import { buildRenderer, root } from './renderer.ts';

/** A start on a busy machine; normally it takes about a second. Milliseconds. */
const startLimit = 90_000;

export interface Gantry {
  /** The one-time address that the last start printed. */
  readonly url: string;
  readonly origin: string;
  readonly home: string;
  readonly workspace: string;
  /** Another one-time address, as `gantry open` gives it. */
  newUrl(): Promise<string>;
  /** Runs a command of the CLI against this Gantry; answers what it printed. */
  cli(...words: string[]): Promise<{ code: number; out: string; err: string }>;
  /** The person's yes to what a test wrote into the workspace by hand. */
  agree(): Promise<void>;
  /** kill −9 of the servers; bots and their panes live on. */
  kill(): Promise<void>;
  /** Starts the servers again on the same ports. */
  start(): Promise<void>;
  /** Ends servers and bots and removes everything. */
  remove(): Promise<void>;
}

interface Started {
  readonly url: string;
  readonly engine: string;
  readonly workspace: string;
}

/**
 * `workspace: 'empty'`: a folder without any team; else the one with the sample that a first start makes. `env`: beside the usual.
 * `settings`: as settings.json has them.
 */
export async function startGantry(
  options: {
    workspace?: 'empty';
    env?: Readonly<Record<string, string>>;
    settings?: unknown;
    /** With a simulated carrier. */
    demoPhone?: true;
  } = {},
): Promise<Gantry> {
  await buildRenderer();
  const folder = mkdtempSync(join(tmpdir(), 'gantry-e2e-'));
  const home = join(folder, '.gantry');
  const empty = join(folder, 'work');
  mkdirSync(empty);
  if (options.settings !== undefined) {
    mkdirSync(home, { mode: 0o700 });
    writeFileSync(join(home, 'settings.json'), JSON.stringify(options.settings), { mode: 0o600 });
  }
  // npm in a pane must not ask the registry for news.
  writeFileSync(join(folder, '.npmrc'), 'update-notifier=false\n');
  const env = {
    ...process.env,
    HOME: folder,
    GANTRY_HOME: home,
    GANTRY_PORT: undefined,
    GANTRY_ENGINE_PORT: undefined,
    ...options.env,
  };
  // As `gantry` does in a checkout; the built program starts in half the time.
  const built = freshBuild();
  const main = built === null ? join(root, 'src', 'cli', 'main.ts') : join(built, 'server', 'cli.js');
  let child: ChildProcess | null = null;
  let started: Started | null = null;

  async function start(): Promise<void> {
    const ports = started === null ? ['0', '0'] : [new URL(started.url).port, new URL(started.engine).port];
    const words = ['start', '--headless', '--json', '--stop-bots', '--port', ports[0]!, '--engine-port', ports[1]!];
    if (options.workspace === 'empty') words.push('--workspace', empty);
    if (options.demoPhone === true) words.push('--demo-phone');
    const mine = spawn(process.execPath, [main, ...words], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    child = mine;
    started = await new Promise<Started>((resolve, reject) => {
      let out = '';
      let err = '';
      const timer = setTimeout(
        () => reject(new Error(`Gantry did not start within ${startLimit} ms: ${err}`)),
        startLimit,
      );
      mine.stdout.on('data', (data: Buffer) => {
        out += data.toString();
        if (!out.includes('\n')) return;
        clearTimeout(timer);
        resolve(JSON.parse(out) as Started);
      });
      mine.stderr.on('data', (data: Buffer) => {
        err += data.toString();
      });
      mine.on('exit', (code) => {
        clearTimeout(timer);
        reject(new Error(`Gantry ended with ${code} before it was ready: ${err}`));
      });
    });
  }

  function exited(one: ChildProcess): Promise<void> {
    if (one.exitCode !== null || one.signalCode !== null) return Promise.resolve();
    return new Promise((resolve) => one.once('exit', () => resolve()));
  }

  function cli(...words: string[]): Promise<{ code: number; out: string; err: string }> {
    return new Promise((resolve) => {
      const one = spawn(process.execPath, [main, ...words], { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
      let out = '';
      let err = '';
      one.stdout.on('data', (data: Buffer) => {
        out += data.toString();
      });
      one.stderr.on('data', (data: Buffer) => {
        err += data.toString();
      });
      one.on('close', (code) => resolve({ code: code ?? -1, out, err }));
    });
  }

  await start();
  return {
    get url() {
      return started!.url;
    },
    get origin() {
      return new URL(started!.url).origin;
    },
    get workspace() {
      return started!.workspace;
    },
    home,
    cli,
    async agree() {
      const token = readFileSync(join(home, 'token'), 'utf8').trim();
      await agreeToAll(`${started!.engine}/api/factory`, { authorization: `Bearer ${token}` });
    },
    async newUrl() {
      const token = readFileSync(join(home, 'token'), 'utf8').trim();
      const answer = await fetch(`${new URL(started!.url).origin}/api/v1/open-codes`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: '{}',
      });
      return ((await answer.json()) as { url: string }).url;
    },
    async kill() {
      if (child === null) return;
      child.kill('SIGKILL');
      await exited(child);
    },
    start,
    async remove() {
      if (child !== null && (child.exitCode !== null || child.signalCode !== null)) await start();
      child?.kill('SIGTERM');
      if (child !== null) await exited(child);
      rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
    },
  };
}
