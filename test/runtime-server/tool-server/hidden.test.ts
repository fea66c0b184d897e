/** No tool reaches what Gantry keeps to itself, even where the workspace holds it. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createToolServer, type ToolCaller } from '../../../src/runtime-server/tool-server/index.ts';

const secret = 'SECRET-TOKEN-4711';
let home: string;
let gantry: string;

beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'gantry-hidden-'));
  gantry = join(home, 'me', '.gantry');
  mkdirSync(join(gantry, 'worktrees', 'crew', 'dev'), { recursive: true });
  writeFileSync(join(gantry, 'token'), secret);
  writeFileSync(join(gantry, 'worktrees', 'crew', 'dev', 'a.txt'), 'of the bot');
  writeFileSync(join(home, 'plain.txt'), 'plain');
  symlinkSync(gantry, join(home, 'door'));
  symlinkSync(join(gantry, 'token'), join(home, 'token-link'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
});

function toolsFor(root: string, hidden = gantry) {
  let names = 0;
  const server = createToolServer({
    policy: { decide: () => ({ verdict: 'allow', rule: 'all' }) },
    approvals: { ask: () => Promise.reject(new Error('Nobody is asked here.')), withdraw: async () => {} },
    env: { PATH: process.env.PATH, GANTRY_TOOL_SANDBOX: 'off' },
    clock: systemClock,
    timers: systemTimers,
    freshName: () => `tmp${names++}`,
    hidden: [hidden],
    log: { error: () => {} },
    converter: {
      async convert({ chunks }) {
        const parts: Uint8Array[] = [];
        for await (const chunk of chunks) parts.push(chunk);
        const markdown = Buffer.concat(parts).toString();
        return {
          markdown,
          family: 'data',
          kind: 'text',
          mimeType: 'text/plain',
          charset: null,
          metadata: {},
          notes: [],
        };
      },
    },
  });
  onTestFinished(() => server.close());
  const caller: ToolCaller = {
    bot: null,
    client: 'user_local/key:k1',
    actor: 'user_local',
    surface: 'key',
    mode: null,
    root,
    checkout: root,
    workspace: root,
    env: {},
    signal: new AbortController().signal,
    patienceMs: 0,
  };
  return (name: string, input: unknown) => server.registry().call(name, input, caller);
}

const ways = ['me/.gantry/token', 'door/token', 'token-link', 'me/../me/./.gantry/token'];

test('no tool reads, finds, changes or removes anything of Gantry’s folder that the workspace holds', async () => {
  const call = toolsFor(home);
  for (const path of [...ways, join(gantry, 'token')]) {
    const tries: [string, object][] = [
      ['file.read', { path }],
      ['file.read', { path, encoding: 'base64' }],
      ['file.exists', { path }],
      ['file.write', { path, content: 'mine' }],
      ['document.convert', { path }],
      ['document.data', { path }],
    ];
    for (const [name, input] of tries) {
      const { isError, text } = await call(name, input);
      expect([name, path, isError, text.includes(secret)]).toEqual([name, path, true, false]);
    }
  }
  for (const path of ['me/.gantry', 'door', 'me/.gantry/worktrees']) {
    expect(await call('file.list', { path })).toMatchObject({ isError: true });
    expect(await call('shell.exec', { command: 'cat', args: ['token'], cwd: path })).toMatchObject({ isError: true });
  }
  for (const path of ['me', 'me/.gantry', 'me/.gantry/token']) {
    expect(await call('file.remove', { path, recursive: true })).toMatchObject({ isError: true });
  }
  const made = { path: 'me/.gantry/new/x', content: 'x', createDirs: true };
  expect(await call('file.write', made)).toMatchObject({ isError: true });
  expect(existsSync(join(gantry, 'new'))).toBe(false);
  expect(readFileSync(join(gantry, 'token'), 'utf8')).toBe(secret);
  expect((await call('file.read', { path: 'plain.txt' })).structured).toMatchObject({ content: 'plain' });
});

test('a list of the workspace does not name it, however deep it goes', async () => {
  const { isError, structured } = await toolsFor(home)('file.list', { recursive: true });
  expect(isError).toBe(false);
  const { entries } = structured as { entries: { path: string }[] };
  expect(entries.map(({ path }) => path)).toEqual(['door', 'me', 'plain.txt', 'token-link']);
});

test('a worktree that lies in it is its bot’s to read and change, and nothing beside it', async () => {
  const call = toolsFor(join(gantry, 'worktrees', 'crew', 'dev'));
  expect((await call('file.read', { path: 'a.txt' })).structured).toMatchObject({ content: 'of the bot' });
  expect((await call('file.list', {})).structured).toMatchObject({ entries: [{ path: 'a.txt' }] });
  expect(await call('file.write', { path: 'b/c.txt', content: 'x', createDirs: true })).toMatchObject({
    isError: false,
  });
  expect((await call('file.read', { path: '../../../token' })).isError).toBe(true);
});

test('whoever takes Gantry’s folder itself for a workspace finds nothing in it; a link that it is named by stays', async () => {
  expect(await toolsFor(gantry)('file.read', { path: 'token' })).toMatchObject({ isError: true });
  const call = toolsFor(home, join(home, 'door'));
  expect(await call('file.remove', { path: 'door' })).toMatchObject({ isError: true });
  expect(await call('file.read', { path: 'me/.gantry/token' })).toMatchObject({ isError: true });
  expect(existsSync(join(home, 'door'))).toBe(true);
});
