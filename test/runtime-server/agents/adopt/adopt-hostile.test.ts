import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { type AdoptingDeps, createAdopting } from '../../../../src/runtime-server/agents/adopt/index.ts';
import { harnessOf, openBy, type Running } from '../../../../src/runtime-server/agents/adopt/open-by.ts';
import { storedSessions } from '../../../../src/runtime-server/agents/adopt/stored-sessions.ts';
import { everythingAgreed } from '../../../support/trust.ts';

const ids = ['11111111-2222-4333-8444-555555555555', '22222222-2222-4333-8444-555555555555'] as const;

/** A home with two conversations of Claude Code, and the part that takes one up, with nothing but files around it. */
function place(more: Partial<AdoptingDeps> = {}) {
  const root = mkdtempSync(join(tmpdir(), 'gantry-adopt-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const chats = join(root, '.claude', 'projects', 'p');
  mkdirSync(chats, { recursive: true });
  const put = (name: string, cwd: string) =>
    writeFileSync(
      join(chats, `${name}.jsonl`),
      `${JSON.stringify({ type: 'user', cwd, message: { content: 'hi' } })}\n`,
    );
  for (const id of ids) put(id, root);
  const deps: AdoptingDeps = {
    env: {},
    userHome: root,
    workspace: root,
    trust: everythingAgreed,
    clock: systemClock,
    timers: systemTimers,
    panes: { get: () => null, list: () => [] } as unknown as AdoptingDeps['panes'],
    registry: { members: () => [] },
    folder: {
      get: () => null,
      folderOf: (team: string) => join(root, team),
      refresh() {},
    } as unknown as AdoptingDeps['folder'],
    teams: { up: async () => ({}), refresh: async () => ({}) } as unknown as AdoptingDeps['teams'],
    running: async () => [],
    ...more,
  };
  return { root, put, adopting: createAdopting(deps) };
}

const by = { actor: 'local', surface: 'test' } as never;

function child(): ChildProcess & { pid: number } {
  const started = spawn('sleep', ['60'], { stdio: 'ignore' });
  onTestFinished(() => void started.kill('SIGKILL'));
  return started as ChildProcess & { pid: number };
}

test('a process that has only the number of the one that was found is not ended', async () => {
  const other = child();
  const found: Running = {
    pid: other.pid,
    parent: 1,
    harness: 'claude',
    args: ['claude', '--resume', ids[0]],
    cwd: '/',
    since: 1000,
    files: [],
  };
  let looks = 0;
  const running = async () => {
    looks += 1;
    return looks === 1 ? [found] : [{ ...found, args: ['claude'], since: 900_000 }];
  };
  const { adopting } = place({ running });
  expect(await adopting.adopt({ harness: 'claude', id: ids[0], takeOver: true }, by)).toMatchObject({
    ends: other.pid,
  });
  // Nothing may happen: a signal would have ended it by now.
  await delay(200);
  expect([other.exitCode, other.signalCode]).toEqual([null, null]);
});

test('two that are taken up at once into one team both stand in its file', async () => {
  const { root, adopting } = place();
  await Promise.all([
    adopting.adopt({ harness: 'claude', id: ids[0], as: 'roof' }, by),
    adopting.adopt({ harness: 'claude', id: ids[1], as: 'door' }, by),
  ]);
  const text = readFileSync(join(root, 'adopted', 'team.yaml'), 'utf8');
  expect([text.includes('bot: roof'), text.includes('bot: door')]).toEqual([true, true]);
});

test('a conversation whose name is an option, or whose folder is no whole path, is nobody’s to take up', async () => {
  const { root, put } = place();
  put('--dangerously-skip-permissions', root);
  put('33333333-2222-4333-8444-555555555555', '../elsewhere');
  const sessions = await storedSessions({ env: {}, home: root }, { harness: 'claude' });
  expect(sessions.map(({ id }) => id).sort()).toEqual([...ids]);
});

test.each([
  [['claude', '--resume', 'x'], 'claude'],
  [['/opt/bin/codex'], 'codex'],
  [['node', '/usr/bin/gemini'], 'gemini'],
  [['/usr/bin/node', '--no-warnings', '--max-old-space-size=100', '/usr/lib/gemini.js'], 'gemini'],
  [['/bin/sh', '/usr/local/bin/opencode'], 'opencode'],
  [['vim', 'claude'], null],
  [['grep', '-r', 'codex'], null],
  [['git', 'clone', 'gemini'], null],
  [['bash', '-c', 'claude'], null],
  [['npm', 'run', 'qwen'], null],
  [['node', 'server.js', '/home/me/claude'], null],
] as const)('%j is a process of %j', (args, harness) => {
  expect(harnessOf(args)).toBe(harness);
});

test('a number that was written down before that process began is another’s', async () => {
  const { root } = place();
  const chats = join(root, '.qwen', 'projects', 'p', 'chats');
  mkdirSync(chats, { recursive: true });
  const line = { type: 'user', cwd: root, message: { parts: [{ text: 'hi' }] } };
  writeFileSync(join(chats, '9e9e9e9e.jsonl'), `${JSON.stringify(line)}\n`);
  const written = join(chats, '9e9e9e9e.runtime.json');
  writeFileSync(written, JSON.stringify({ pid: 7 }));
  utimesSync(written, 5000, 5000);
  const sessions = await storedSessions({ env: {}, home: root }, { harness: 'qwen' });
  const [session] = sessions;
  if (session === undefined) throw new Error('It is not listed.');
  const process = (since: number | null): Running => ({
    pid: 7,
    parent: 1,
    harness: 'qwen',
    args: ['qwen'],
    cwd: '/other',
    since,
    files: [],
  });
  expect(openBy(session, [process(4_000_000)], sessions)).toEqual({ pid: 7, sure: true });
  expect(openBy(session, [process(null)], sessions)).toEqual({ pid: 7, sure: true });
  expect(openBy(session, [process(6_000_000)], sessions)).toBeNull();
});
