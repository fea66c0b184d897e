import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { KeptSession } from '../../../../src/contracts/factory/adopt-routes.ts';
import { openBy, type Running } from '../../../../src/runtime-server/agents/adopt/open-by.ts';
import type { Kept } from '../../../../src/runtime-server/agents/adopt/stored-sessions.ts';
import { withBot } from '../../../../src/runtime-server/agents/team-file/edit.ts';
import { type Engine, startEngine } from '../../engine.ts';

const standIn = fileURLToPath(new URL('../../harness/stand-in-claude.mjs', import.meta.url));
const claudeId = '11111111-2222-4333-8444-555555555555';
const lines = (...entries: unknown[]) => entries.map((entry) => `${JSON.stringify(entry)}\n`).join('');

interface Place {
  readonly home: string;
  readonly bin: string;
  readonly project: string;
}

/** A home with conversations of every harness that keeps files, and a stand-in `claude`. */
function place(): Place {
  const root = mkdtempSync(join(tmpdir(), 'gantry-adopt-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [home, bin, project] = ['home', 'bin', 'project'].map((name) => join(root, name)) as [string, string, string];
  for (const folder of [home, bin, project]) mkdirSync(folder);
  const program = join(bin, 'claude');
  writeFileSync(program, `#!${process.execPath}\nimport(${JSON.stringify(standIn)});\n`);
  chmodSync(program, 0o755);
  const put = (path: string, text: string) => {
    mkdirSync(join(home, path, '..'), { recursive: true });
    writeFileSync(join(home, path), text);
  };
  put(
    `.claude/projects/${project.replace(/[^A-Za-z0-9]/g, '-')}/${claudeId}.jsonl`,
    lines(
      { type: 'user', cwd: project, message: { role: 'user', content: `mend the roof ${'x'.repeat(400)}` } },
      { type: 'assistant', message: { content: [{ type: 'text', text: 'SECRET ANSWER' }] } },
    ),
  );
  put(`.claude/projects/empty/22222222-2222-4333-8444-555555555555.jsonl`, lines({ type: 'mode', cwd: project }));
  put(
    '.codex/sessions/2026/11/20/rollout-2026-11-20T10-00-00-c0de1111.jsonl',
    lines(
      { type: 'session_meta', payload: { id: 'c0de1111', cwd: project } },
      {
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: '<environment_context>' }] },
      },
      {
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'count the bricks' }] },
      },
    ),
  );
  put('.gemini/projects.json', JSON.stringify({ projects: { [project]: 'house' } }));
  put(
    '.gemini/tmp/house/chats/session-2026-11-20-abcd1234.jsonl',
    `${lines({ sessionId: 'abcd1234-aaaa' }, { type: 'user', content: [{ text: 'paint the door' }] })}{"damaged`,
  );
  put(
    `.qwen/projects/house/chats/9e9e9e9e.jsonl`,
    lines({ type: 'user', provenance: 'real_user', cwd: project, message: { parts: [{ text: 'plant a tree' }] } }),
  );
  return { home, bin, project };
}

const engineIn = ({ home, bin }: Place) =>
  startEngine({ env: { HOME: home, PATH: `${bin}:${process.env.PATH}`, STAND_IN: '' } });
const sessionsOf = async (engine: Engine, query = '') =>
  (await engine.call<{ sessions: KeptSession[] }>('GET', `/sessions${query}`)).body.sessions;
const adopt = (engine: Engine, body: Record<string, unknown>) =>
  engine.call<Record<string, unknown>>('POST', '/sessions/adopt', { harness: 'claude', id: claudeId, ...body });

test('the conversations of every harness are listed with at most 200 characters of their first prompt, and nothing else of them', async () => {
  const here = place();
  const engine = await engineIn(here);
  const sessions = await sessionsOf(engine);
  expect(sessions.map(({ harness, id }) => `${harness} ${id}`).sort()).toEqual([
    `claude ${claudeId}`,
    'codex c0de1111',
    'gemini abcd1234-aaaa',
    'qwen 9e9e9e9e',
  ]);
  expect(sessions.every(({ cwd, openBy }) => cwd === here.project && openBy === null)).toBe(true);
  expect(sessions.find(({ harness }) => harness === 'claude')?.title).toBe(`mend the roof ${'x'.repeat(186)}`);
  expect(sessions.find(({ harness }) => harness === 'codex')?.title).toBe('count the bricks');
  expect(JSON.stringify(sessions)).not.toContain('SECRET ANSWER');
  expect(await sessionsOf(engine, '?harness=qwen')).toHaveLength(1);
  expect(await sessionsOf(engine, '?cwd=/nowhere')).toEqual([]);
});

test('a conversation is taken up: planned first, written into a team, started with the harness’s own resume', async () => {
  const here = place();
  const engine = await engineIn(here);
  const file = join(engine.workspace, '.gantry/teams/adopted/team.yaml');
  const planned = await adopt(engine, { dryRun: true });
  expect(planned.body).toMatchObject({ bot: 'claude@adopted', applied: false, ends: null });
  expect(planned.body.lines).toContain(`cwd: ${here.project}`);
  expect(existsSync(file)).toBe(false);
  const done = await adopt(engine, {});
  expect([done.status, done.body.applied]).toEqual([200, true]);
  expect(readFileSync(file, 'utf8')).toContain('harness: claude');
  const bot = await engine.until('claude@adopted', 'idle');
  const pane = engine.panes.get(String(bot.pane?.id));
  const args = readFileSync(`/proc/${pane?.pid}/cmdline`, 'utf8').split('\0');
  expect(args[args.indexOf('--resume') + 1]).toBe(claudeId);
  // Now it is that bot's.
  expect((await sessionsOf(engine, '?harness=claude'))[0]?.openBy).toMatchObject({ bot: 'claude@adopted', sure: true });
  const again = await adopt(engine, { takeOver: true, as: 'other' });
  expect([again.status, JSON.stringify(again.body)]).toEqual([403, expect.stringContaining('claude@adopted')]);
});

test('a bot cannot list or adopt: the routes are the owner’s alone', async () => {
  const engine = await engineIn(place());
  engine.team('crew', 'bots:\n  - {bot: web, harness: shell}\n');
  await engine.call('POST', '/teams/crew/up', {});
  await engine.until('web@crew', 'idle');
  const token = await engine.botToken('web@crew');
  expect((await engine.call('GET', '/sessions', undefined, { token })).status).toBe(403);
  expect((await engine.call('POST', '/sessions/adopt', { harness: 'claude', id: claudeId }, { token })).status).toBe(
    403,
  );
});

test('a conversation that a process has open is refused with its number, and taken over only when that is asked for', async () => {
  const here = place();
  const engine = await engineIn(here);
  // A program of that name that was started for this conversation.
  const program = join(here.home, 'claude');
  writeFileSync(program, `#!${process.execPath}\nsetInterval(() => {}, 1000);\n`, { mode: 0o755 });
  const other = spawn(program, ['--resume', claudeId], { cwd: here.project, stdio: 'ignore' });
  onTestFinished(() => void other.kill('SIGKILL'));
  const ended = new Promise((resolve) => other.once('exit', () => resolve('ended')));
  await new Promise((resolve) => other.once('spawn', resolve));
  const refused = await adopt(engine, {});
  expect([refused.status, JSON.stringify(refused.body)]).toEqual([
    403,
    expect.stringContaining(`process ${other.pid}`),
  ]);
  expect((await adopt(engine, { takeOver: true, dryRun: true })).body).toMatchObject({
    ends: other.pid,
    applied: false,
  });
  expect(other.exitCode).toBe(null);
  expect((await adopt(engine, { takeOver: true })).body).toMatchObject({ ends: other.pid, applied: true });
  expect(await ended).toBe('ended');
});

test('a start that fails leaves the team file as it was', async () => {
  const here = place();
  const engine = await engineIn(here);
  engine.team('crew', 'bots:\n  - {bot: web, harness: shell} # mine\n');
  const file = join(engine.workspace, '.gantry/teams/crew/team.yaml');
  // Not installed here.
  const failed = await engine.call('POST', '/sessions/adopt', { harness: 'qwen', id: '9e9e9e9e', team: 'crew' });
  expect(failed.status).toBeGreaterThanOrEqual(400);
  expect(readFileSync(file, 'utf8')).toBe('bots:\n  - {bot: web, harness: shell} # mine\n');
});

test('a bot is added to a team file with everything else left as it was written', () => {
  const text = '# my team\nbots:\n  - bot: web # the first\n    harness: shell\nculture: kind.md\n';
  const { text: next } = withBot(text, { bot: 'roof', harness: 'claude', cwd: '/home/me/house' });
  expect(next).toBe(
    '# my team\nbots:\n  - bot: web # the first\n    harness: shell\n  - bot: roof\n    harness: claude\n    cwd: /home/me/house\nculture: kind.md\n',
  );
  expect(() => withBot('bots: [', { bot: 'roof', harness: 'claude', cwd: '/' })).toThrow(/problems/);
});

const kept = (id: string, lastUsed: number): Kept => ({
  harness: 'codex',
  id,
  title: 't',
  cwd: '/p',
  lastUsed,
  file: `/h/${id}.jsonl`,
  pid: null,
});
const runs = (over: Partial<Running>): Running => ({
  pid: 7,
  parent: 1,
  harness: 'codex',
  args: ['codex'],
  cwd: '/p',
  since: 100,
  files: [],
  ...over,
});

test.each([
  ['its number was written down', { ...kept('a', 50), pid: 7 }, runs({ cwd: '/other' }), { pid: 7, sure: true }],
  ['it is named in the arguments', kept('a', 50), runs({ args: ['codex', 'resume', 'a'] }), { pid: 7, sure: true }],
  ['its file is held', kept('a', 50), runs({ files: ['/h/a.jsonl'] }), { pid: 7, sure: true }],
  ['it is the latest of that folder', kept('b', 200), runs({}), { pid: 7, sure: false }],
  ['a later one is of that folder', kept('a', 150), runs({}), null],
  ['it was last used before the program started', kept('b', 99), runs({}), null],
  ['the program was started for another', kept('b', 200), runs({ args: ['codex', 'resume', 'a'] }), null],
  ['another harness runs there', kept('b', 200), runs({ harness: 'claude' }), null],
] as const)('whether a conversation is open, where %s', (_, session, process, open) => {
  const other = session.id === 'a' ? kept('b', 200) : kept('a', 50);
  expect(openBy(session, [process], [session, other])).toEqual(open);
});
