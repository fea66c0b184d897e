import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { harnesses as names } from '../../../src/contracts/factory/agent.ts';
import { isCovered } from '../../../src/runtime-server/harness/found.ts';
import { createScratch, type Scratch } from './bench-of-one.ts';

let scratch: Scratch;
let bin: string;
beforeEach(() => {
  scratch = createScratch();
  bin = join(scratch.work, 'bin');
  mkdirSync(bin);
});
afterEach(() => scratch.close());

/** A package as npm installs it: a link on PATH to a file inside a folder with package.json. */
function installed(program: string, name: string, version: string): void {
  const folder = join(scratch.work, 'node_modules', name);
  mkdirSync(join(folder, 'bin'), { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name, version }));
  const file = join(folder, 'bin', program);
  writeFileSync(file, '#!/bin/sh\nexit 9\n');
  chmodSync(file, 0o755);
  symlinkSync(file, join(bin, program));
}

const find = async (name: string) => (await scratch.restarted().found()).find((entry) => entry.name === name);

test('every harness is listed; what is missing names its install command', async () => {
  scratch.env.PATH = bin;
  const found = await scratch.harnesses.found();
  expect(found.map(({ name }) => name)).toEqual([...names]);
  expect(await find('claude')).toMatchObject({ installed: false, fix: 'npm install -g @anthropic-ai/claude-code' });
  expect(await find('codex')).toMatchObject({ installed: false, fix: 'npm install -g @openai/codex' });
  expect(await find('custom')).toMatchObject({ installed: true, fix: null });
});

test('the version comes from the package without starting the program; an unknown one is said to be unverified', async () => {
  scratch.env.PATH = bin;
  installed('claude', '@anthropic-ai/claude-code', '2.1.329');
  expect(await find('claude')).toMatchObject({ installed: true, version: '2.1.329', covered: true });
  installed('opencode', 'opencode-ai', '9.9.9');
  expect(await find('opencode')).toMatchObject({ version: '9.9.9', covered: false });
  installed('codex', '@openai/codex', '0.171.0');
  expect(await find('codex')).toMatchObject({ covered: true, signedIn: null, fix: null });
  installed('gemini', '@google/gemini-cli', '0.70.0');
  expect(await find('gemini')).toMatchObject({
    covered: false,
    detail: expect.stringContaining('versions from 0.61.0 to below 0.62.0'),
    fix: 'npm install -g @google/gemini-cli@0.61.0',
  });
});

test('bash tells its own version', async () => {
  expect(await find('shell')).toMatchObject({
    installed: true,
    covered: true,
    version: expect.stringMatching(/^\d+\.\d+/),
  });
});

test('signed in by key or by file, else the sign-in command is named', async () => {
  scratch.env.PATH = bin;
  installed('claude', '@anthropic-ai/claude-code', '3.0.0');
  expect(await find('claude')).toMatchObject({ covered: false, signedIn: false, fix: 'claude auth login' });
  mkdirSync(join(scratch.home, '.claude'));
  writeFileSync(join(scratch.home, '.claude', '.credentials.json'), '{}');
  expect(await find('claude')).toMatchObject({
    signedIn: true,
    fix: 'npm install -g @anthropic-ai/claude-code@2.1.300',
  });
});

test('versions are compared number by number', () => {
  const range = { from: '2.1.300', below: '2.2.0' };
  expect(
    ['2.1.299', '2.1.300', '2.1.1000', '2.2', '2.2.0', '10.0.0'].map((version) => isCovered(version, range)),
  ).toEqual([false, true, true, false, false, false]);
});

test('what is not installed is refused with its install command', async () => {
  const bot = scratch.spec({ harness: 'codex' });
  const paths = scratch.paths('a');
  const custom = { ...bot, harness: 'custom' } as const;
  await expect(scratch.harnesses.prepare({ ...custom, command: 'no-such-program --x' }, paths)).rejects.toMatchObject({
    code: 'usage',
    fact: 'The command "no-such-program" of web@dev was not found.',
  });
  scratch.env.PATH = bin;
  const again = scratch.restarted();
  for (const [harness, name] of [
    ['claude', '@anthropic-ai/claude-code'],
    ['codex', '@openai/codex'],
    ['gemini', '@google/gemini-cli'],
  ] as const) {
    await expect(again.prepare({ ...bot, harness }, paths)).rejects.toMatchObject({
      code: 'usage',
      action: expect.stringContaining(`npm install -g ${name}`),
    });
  }
  await expect(again.prepare({ ...bot, harness: 'custom' }, paths)).rejects.toMatchObject({
    code: 'usage',
    fact: expect.stringContaining('no command'),
  });
});
