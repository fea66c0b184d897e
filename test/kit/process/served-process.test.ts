/** What serving a child promises: streams, plain environment, and that it and all that it started end with us. Real processes. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startServedProcess } from '../../../src/kit/process/served-process.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { alive, node, pidIn, sh } from './support.ts';

test('it is talked with over its own streams, under its own pid', async () => {
  const script = `process.stdin.once('data', (text) => process.stdout.write(process.pid + ' ' + text))`;
  const child = await startServedProcess({ command: node(script) });
  child.stdin.write('hello');
  const [answer] = (await child.stdout.take(1).toArray()) as [Buffer];
  expect(answer.toString()).toBe(`${child.pid} hello`);
  await child.end();
  expect(alive(child.pid)).toBe(false);
});

test('arguments are words, and it sees the plain environment and what it was given, not ours', async () => {
  process.env.GANTRY_TEST_SECRET = 'of the runtime';
  const script = 'console.log(JSON.stringify([process.argv.slice(1), process.env]))';
  const child = await startServedProcess({
    command: [process.execPath, '-e', script, '$HOME; echo x', '`id`', ''],
    env: { KEY: 'a "b" $c\nd' },
  });
  const text = Buffer.concat(await child.stdout.toArray()).toString();
  const [argv, env] = JSON.parse(text) as [string[], Record<string, string>];
  expect(argv).toEqual(['$HOME; echo x', '`id`', '']);
  expect(env).toMatchObject({ KEY: 'a "b" $c\nd', PATH: process.env.PATH });
  expect(env).not.toHaveProperty('GANTRY_TEST_SECRET');
  await child.end();
});

test('what it complains with last is kept', async () => {
  const child = await startServedProcess({ command: sh('yes x | head -c 100000 >&2; echo "the reason" >&2; exit 3') });
  expect(await child.exited).toEqual({ code: 3, signal: null });
  await child.end();
  expect(child.complaint()).toMatch(/the reason\n$/);
  expect(child.complaint().length).toBeLessThanOrEqual(4096);
});

test('a program that is not there ends with 127', async () => {
  const child = await startServedProcess({ command: ['no-such-program-here'] });
  expect((await child.exited).code).toBe(127);
  expect(child.complaint()).toContain('no-such-program-here');
  await child.end();
});

test('a folder that is not there is a usage error that names it', async () => {
  await expect(startServedProcess({ command: ['true'], cwd: '/no/such/folder' })).rejects.toMatchObject({
    code: 'usage',
    fact: 'true could not be started in /no/such/folder (ENOENT).',
  });
});

test('what it started ends with it, whatever it ignores and however it left', async () => {
  const folder = scratchFolder();
  const stubborn = `trap '' TERM; echo $$ > ${folder}/a; setsid sh -c 'trap "" TERM; echo $$ > ${folder}/b; sleep 100; sleep 100' & sleep 100; sleep 100`;
  const child = await startServedProcess({ command: sh(stubborn) });
  await expect.poll(() => existsSync(join(folder, 'b')) && pidIn(join(folder, 'b')) > 0).toBe(true);
  await child.end();
  expect(alive(pidIn(join(folder, 'a')))).toBe(false);
  expect(alive(pidIn(join(folder, 'b')))).toBe(false);
});

test('what it leaves behind when it ends by itself is ended', async () => {
  const folder = scratchFolder();
  const child = await startServedProcess({ command: sh(`sleep 100 & echo $! > ${folder}/left; exit 0`) });
  await child.exited;
  await expect.poll(() => alive(pidIn(join(folder, 'left')))).toBe(false);
});

test('when we are killed with -9, it ends, and what left its group as well', async () => {
  const folder = scratchFolder();
  const script = `trap '' TERM; setsid sh -c 'echo $$ > ${folder}/away; sleep 100; sleep 100' & sleep 100; sleep 100`;
  const us = spawn(
    process.execPath,
    [join(import.meta.dirname, '../../support/victims/served-runtime.ts'), join(folder, 'pid'), ...sh(script)],
    { stdio: 'ignore' },
  );
  await expect.poll(() => existsSync(join(folder, 'pid')) && existsSync(join(folder, 'away'))).toBe(true);
  await expect.poll(() => pidIn(join(folder, 'away')) > 0 && pidIn(join(folder, 'pid')) > 0).toBe(true);
  const [child, away] = [pidIn(join(folder, 'pid')), pidIn(join(folder, 'away'))];
  expect(alive(child) && alive(away)).toBe(true);
  us.kill('SIGKILL');
  await expect.poll(() => alive(child) || alive(away)).toBe(false);
});
