/** The PATH of the person's shell, asked of real shells. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { personPath } from '../../src/main/person-path.ts';

function home(profile: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-path-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  for (const name of ['.bash_profile', '.bashrc']) writeFileSync(join(folder, name), profile);
  return folder;
}
const ask = (HOME: string, change: object = {}) =>
  personPath({
    platform: 'linux',
    packaged: true,
    env: { HOME, SHELL: '/bin/bash', PATH: '/usr/bin:/bin' },
    ...change,
  });

test('what the person’s start files add is found, whatever they print', async () => {
  const folder = home('echo "Welcome to $PATH"; export PATH="$HOME/.local/bin:$PATH"');
  expect((await ask(folder))?.split(':')).toEqual(expect.arrayContaining([`${folder}/.local/bin`, '/usr/bin']));
});

test('a shell that hangs, fails or says nothing of use changes nothing', async () => {
  expect(await ask(home('sleep 60'), { limitMs: 300 })).toBeNull();
  expect(await ask(home('exit 3'))).toBeNull();
  expect(await ask(home(''), { env: { SHELL: '/nowhere/sh' } })).toBeNull();
  expect(await ask(home(''), { env: { SHELL: 'bash' } })).toBeNull();
});

test('nobody is asked from the sources, whose terminal has the person’s own, nor on Windows', async () => {
  const folder = home('export PATH="/mine:$PATH"');
  expect(await ask(folder, { packaged: false })).toBeNull();
  expect(await ask(folder, { platform: 'win32' })).toBeNull();
});
