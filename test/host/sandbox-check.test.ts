/** Whether commands of bots are confined is said where a person looks. */
import { expect, test } from 'vitest';
import { botSandboxCheck, sandboxCheck } from '../../src/host/runtime-checks.ts';
import { systemClock } from '../../src/kit/clock/clock.ts';
import { createShellSandbox } from '../../src/runtime-server/tool-server/shell-sandbox.ts';

const deps = { hidden: [], clock: systemClock, freshName: () => 'n' };

test('where nothing confines commands doctor says so, and how that is mended', async () => {
  const none = createShellSandbox({ ...deps, env: { PATH: '/nowhere' }, wanted: true });
  expect(await sandboxCheck(none, 'linux')).toMatchObject({
    name: 'Sandbox',
    state: 'warn',
    detail: expect.stringContaining('commands run as you, with your files and your network'),
    fix: expect.stringContaining(process.platform === 'linux' ? 'bubblewrap' : ''),
  });
  const off = createShellSandbox({ ...deps, env: { PATH: process.env.PATH }, wanted: false });
  expect(await sandboxCheck(off, 'linux')).toMatchObject({
    state: 'warn',
    fix: expect.stringContaining('GANTRY_TOOL_SANDBOX'),
  });
  expect((await sandboxCheck(none, 'darwin')).fix).toBe(null);
  const confines = { about: async () => 'Commands run in bubblewrap.', missing: async () => null };
  expect(await sandboxCheck(confines)).toMatchObject({ state: 'ok', fix: null });
});

test('doctor names the first sandbox of bots that cannot be had, and what mends it', async () => {
  const without = (mode: string, why: string) => ({ missing: async (asked: string) => (asked === mode ? why : null) });
  const lacks = '`nft`, which is part of nftables, is not installed';
  expect(await botSandboxCheck(without('closed', lacks), 'linux')).toMatchObject({
    state: 'warn',
    detail: `\`sandbox: closed\` cannot be had: ${lacks}. A bot that wants it is not started.`,
    fix: 'Install nftables: sudo apt install nftables',
  });
  const unwritten = 'it cannot be prepared (EDQUOT: disk quota exceeded, write)';
  expect(await botSandboxCheck(without('files', unwritten), 'linux')).toMatchObject({
    state: 'warn',
    fix: 'Make sure that Gantry’s folder can be written and its disk has space',
  });
  expect(await botSandboxCheck(without('files', 'there is no sandbox on this system'), 'darwin')).toMatchObject({
    state: 'warn',
    fix: null,
  });
  expect(await botSandboxCheck(without('none', ''))).toMatchObject({ state: 'ok', fix: null });
});
