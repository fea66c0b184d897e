// Runs apart: its leases of a few seconds run out by real time, which a busy machine does not keep.
/** `gantry worker` as it is shipped: built, away from its source, at a terminal. What it keeps while it works, and what it leaves. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spawn } from 'node-pty';
import { createBuilder } from 'vite';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { findSandbox } from '../../../src/programs/worker/sandbox.ts';
import { startQueue, type TestQueue } from '../../cloud-api/work-queue/support.ts';
import { engines } from '../../support/engines.ts';
import { scratchFolder } from '../../support/scratch.ts';

/** Programs take their time to start on a computer that is busy with other tests. */
const slow = { timeout: 90_000 };
const root = new URL('../../..', import.meta.url).pathname;
const install = mkdtempSync(join(tmpdir(), 'gantry-install-'));

beforeAll(async () => {
  const server = { build: { outDir: join(install, 'out', 'server') } };
  const builder = await createBuilder({
    configFile: join(root, 'vite.config.ts'),
    logLevel: 'error',
    environments: { server },
  });
  await builder.build(builder.environments.server!);
  copyFileSync(join(root, 'package.json'), join(install, 'package.json'));
}, 120_000);
afterAll(() => rmSync(install, { recursive: true, force: true }));

function startAtTerminal(q: TestQueue, ...argv: string[]) {
  const scratch = scratchFolder();
  const keyFile = join(scratch, 'key');
  writeFileSync(keyFile, 'ada\n', { mode: 0o600 });
  const temporary = join(scratch, 'tmp');
  mkdirSync(temporary);
  const cli = join(install, 'out', 'server', 'cli.js');
  const given = ['--url', `http://127.0.0.1:${q.server.port}`, '--key-file', keyFile, '--name', 'desk', ...argv];
  const env = { PATH: process.env.PATH ?? '', HOME: scratch, GANTRY_HOME: join(scratch, 'home'), TMPDIR: temporary };
  const pty = spawn(process.execPath, [cli, 'worker', ...given], { cwd: scratch, env, cols: 200 });
  let text = '';
  pty.onData((part) => {
    text += part;
  });
  const ended = new Promise<number>((resolve) => pty.onExit(({ exitCode }) => resolve(exitCode)));
  onTestFinished(async () => {
    pty.kill('SIGKILL');
    await ended;
  });
  return {
    ended,
    kill: () => pty.kill('SIGKILL'),
    text: () => text,
    controlC: () => pty.write('\x03'),
    /** In its folders, of its own and for temporary files. */
    left: () => [...readdirSync(temporary), ...(existsSync(env.GANTRY_HOME) ? ['home'] : [])],
  };
}

/** Processes whose command has this word. */
function running(word: string): number {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(word)).length;
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

const sandbox = await findSandbox({ wanted: true, network: false, path: process.env.PATH ?? '' });
const start = (leaseMs: number) => startQueue(engines[0]!, { real: true, leaseMs });
const held = async (q: TestQueue) =>
  (await q.send('GET', '?worker_id=desk')).tasks.filter((task) => task.lease_worker_id);

test(
  'its thread keeps the leases of jobs that take longer, and drained it leaves no folder, process or lease',
  slow,
  async () => {
    const q = await start(3_000);
    const [word, other] = [`8.${Math.floor(performance.now())}`, `600.1${Math.floor(performance.now())}`];
    const made: string[] = [];
    for (const command of [`sleep ${word}`, `mkdir -p deep/er; echo x > deep/er/file; sleep ${other} &`]) {
      made.push((await q.create({ payload: { command } })).id);
    }
    const worker = startAtTerminal(q, '--drain', '--concurrency', '2', '--no-sandbox');
    await expect.poll(async () => (await q.task(made[1]!)).status).toBe('succeeded');
    expect((await held(q)).map(({ id }) => id)).toEqual([made[0]]);
    // For longer than a lease nobody else gets it.
    for (let asked = 0; asked < 20; asked += 1) {
      expect((await q.lease('other')).task).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
    expect(await worker.ended).toBe(0);
    for (const id of made) expect(await q.task(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
    expect(worker.text()).toContain('No sandbox, as you asked: commands run as you');
    expect(worker.text()).toContain('Worker desk has ended: 2 succeeded.');
    expect(worker.left()).toEqual([]);
    expect(running(`sleep\0${other}`)).toBe(0);
    expect(await held(q)).toEqual([]);
  },
);

test(
  'Ctrl-C lets it finish what it holds; a second one ends that, leaves nothing here, and the lease runs out',
  slow,
  async () => {
    const q = await start(2_000);
    const word = `600.${Math.floor(performance.now())}`;
    const { id } = await q.create({ payload: { command: `touch here; sleep ${word}` } });
    const worker = startAtTerminal(q);
    await expect.poll(() => running(`sleep\0${word}`)).toBeGreaterThan(0);
    const later = await q.create();
    worker.controlC();
    await expect.poll(worker.text).toContain('draining   finishes 1, takes nothing new');
    const first = (await q.task(id)).lease_expires_at ?? '';
    // Past the end of its first lease: it is kept while the worker drains.
    await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(first));
    expect(await q.task(id)).toMatchObject({ status: 'running', lease_worker_id: 'desk' });
    expect((await q.task(later.id)).status).toBe('queued');
    worker.controlC();
    expect(await worker.ended).toBe(0);
    expect(worker.text()).toContain('Ending now: its tasks go to other workers when their leases expire.');
    expect(worker.left()).toEqual([]);
    expect(running(`sleep\0${word}`)).toBe(0);
    await expect.poll(async () => (await q.lease('other')).task?.id).toBe(id);
  },
);

test.skipIf(!sandbox.closed)(
  'in the sandbox a command dies with a worker that is killed outright (needs bwrap)',
  slow,
  async () => {
    const q = await start(60_000);
    const word = `600.${Math.floor(performance.now())}`;
    await q.create({ payload: { command: `sleep ${word}` } });
    const worker = startAtTerminal(q);
    await expect.poll(() => running(`sleep\0${word}`)).toBeGreaterThan(0);
    expect(worker.text()).toContain('Commands run in bubblewrap, without network access.');
    worker.kill();
    await expect.poll(() => running(`sleep\0${word}`)).toBe(0);
  },
);
