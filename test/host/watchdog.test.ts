/** A Gantry whose loop stands is ended and started again; one that sleeps, closes, or was stopped by its person is not. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { onEnd } from '../support/at-end.ts';

const everyMs = 300;
const module = new URL('../../src/host/watchdog.ts', import.meta.url).href;

/** A program that is watched, does what its input says, and writes down each of its starts. */
const program = `
import { appendFileSync, existsSync } from 'node:fs';
const { watchOver } = await import(${JSON.stringify(module)});
const [folder, again] = process.argv.slice(2);
const begun = folder + '/starts';
const watchdog = watchOver({
  beat: folder + '/beat',
  env: process.env,
  again: again === 'none' ? null : [process.execPath, ...process.argv.slice(1)],
  everyMs: ${everyMs},
});
appendFileSync(begun, process.pid + '\\n');
const block = () => { for (;;); };
if (again === 'always') block();
process.stdin.on('data', (text) => {
  if (String(text) === 'block') block();
  if (String(text) === 'end') { watchdog.end(); process.stdin.pause(); }
  if (String(text) === 'rest') { watchdog.rest(true); block(); }
});
setTimeout(() => {}, 120_000);
`;

interface Victim {
  readonly child: ChildProcess;
  readonly folder: string;
  readonly ended: Promise<string>;
  said(): string;
  starts(): number[];
}

async function start(again: 'once' | 'always' | 'none', more: Record<string, string> = {}): Promise<Victim> {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-watchdog-'));
  const file = join(folder, 'program.mjs');
  writeFileSync(file, program);
  const env = { PATH: process.env.PATH ?? '', ...more };
  const child = spawn(process.execPath, [file, folder, again], { env, stdio: ['pipe', 'ignore', 'pipe'] });
  let text = '';
  child.stderr?.on('data', (data) => {
    text += String(data);
  });
  const ended = new Promise<string>((resolve) => child.on('exit', (code, signal) => resolve(signal ?? String(code))));
  const starts = () =>
    existsSync(join(folder, 'starts'))
      ? readFileSync(join(folder, 'starts'), 'utf8').split('\n').slice(0, -1).map(Number)
      : [];
  onEnd(() => {
    for (const pid of starts()) {
      if (isUp(pid)) process.kill(pid, 'SIGKILL');
    }
  });
  await expect.poll(starts).toHaveLength(1);
  return { child, folder, ended, said: () => text, starts };
}

function isUp(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Some process has the file of this folder's counter among its arguments. */
function isWatched(folder: string): boolean {
  const { stdout } = spawnSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
  return stdout.split('\n').some((line) => line.includes('gantry-watchdog') && line.includes(`${folder}/beat`));
}

test('a loop that stands is ended as a crash, and the program is started again and watched again', async () => {
  const one = await start('once');
  expect(isWatched(one.folder)).toBe(true);
  one.child.stdin?.write('block');
  expect(await one.ended).toBe('SIGABRT');
  await expect.poll(one.starts).toHaveLength(2);
  expect(one.said()).toContain('Gantry did nothing for 20 seconds. It was ended and starts again');
  await expect.poll(() => isWatched(one.folder)).toBe(true);
});

test('after three restarts in ten minutes it is ended and stays so', async () => {
  const one = await start('always');
  await expect.poll(one.said, { timeout: 100_000 }).toContain('after 3 restarts in ten minutes');
  expect(one.starts()).toHaveLength(4);
  expect(isWatched(one.folder)).toBe(false);
});

test('where something else starts it again the watcher only ends it', async () => {
  const one = await start('none');
  one.child.stdin?.write('block');
  expect(await one.ended).toBe('SIGABRT');
  await expect.poll(() => isWatched(one.folder)).toBe(false);
  expect(one.starts()).toHaveLength(1);
});

test('the watcher leaves with its program, however that ends, and watches nothing while it rests or closes', async () => {
  const killed = await start('once');
  process.kill(killed.child.pid!, 'SIGKILL');
  await killed.ended;
  await expect.poll(() => isWatched(killed.folder)).toBe(false);

  const closed = await start('once');
  closed.child.stdin?.write('end');
  await expect.poll(() => isWatched(closed.folder)).toBe(false);
  expect(existsSync(join(closed.folder, 'beat'))).toBe(false);

  const resting = await start('once');
  resting.child.stdin?.write('rest');
  const stopped = await start('once');
  process.kill(stopped.child.pid!, 'SIGSTOP');
  // Nothing happens, and nothing says so: both would be ended after ten looks.
  await new Promise((resolve) => setTimeout(resolve, everyMs * 20));
  expect([isUp(resting.child.pid!), isUp(stopped.child.pid!)]).toEqual([true, true]);
  expect([isWatched(resting.folder), isWatched(stopped.folder)]).toEqual([true, true]);
  process.kill(stopped.child.pid!, 'SIGCONT');
}, 60_000);

test('under systemd its own watchdog is told: an hour for the start and the close, 20 s between, and a beat', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-notify-'));
  const told = join(folder, 'told');
  writeFileSync(join(folder, 'systemd-notify'), `#!/bin/sh\necho "$1" >>${told}\n`);
  chmodSync(join(folder, 'systemd-notify'), 0o755);
  const more = { PATH: `${folder}:${process.env.PATH}`, WATCHDOG_USEC: '20000000' };
  const one = await start('once', more);
  const words = () => (existsSync(told) ? readFileSync(told, 'utf8').trim().split('\n').sort() : []);
  await expect.poll(words).toEqual(['WATCHDOG=1', 'WATCHDOG_USEC=20000000']);
  expect(isWatched(one.folder)).toBe(false);
  one.child.stdin?.write('end');
  await expect.poll(words).toContain('WATCHDOG_USEC=3600000000');
  // Another program of a service has the variables, too.
  const other = await start('once', { ...more, WATCHDOG_PID: '1' });
  expect(isWatched(other.folder)).toBe(true);
});
