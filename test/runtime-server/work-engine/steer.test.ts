import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import type { Message } from '../../../src/contracts/factory/delivery.ts';
import type { Checkpoint } from '../../../src/contracts/factory/work-engine/steer.ts';
import { maxCheckpoints } from '../../../src/runtime-server/work-engine/steer.ts';
import { type Engine, sharedEngine, waitFor } from '../engine.ts';
import { makeSleep } from '../shells.ts';

const shared = sharedEngine();
const tokens = new Map<string, string>();
const steer = <T = { error: { code: string; fact: string } }>(body: unknown, as?: string) =>
  shared.current.call<T>('POST', '/steer', body, as === undefined ? {} : { token: tokens.get(as) ?? '' });

beforeAll(async () => {
  const engine: Engine = shared.current;
  mkdirSync(join(engine.workspace, 'repo'));
  engine.team(
    'led',
    `bots:
  - {bot: lead, harness: shell}
  - {bot: hand, harness: shell, cwd: repo, directed_by: lead}
  - {bot: other, harness: shell}
`,
  );
  await engine.call('POST', '/teams/led/up', {});
  for (const slug of ['lead', 'hand', 'other']) {
    await engine.until(`${slug}@led`, 'idle');
    tokens.set(slug, await engine.botToken(`${slug}@led`));
  }
});

test('a checkpoint holds state, screen and where the repository stands, and does not run what the repository names', async () => {
  const engine = shared.current;
  const repo = join(engine.workspace, 'repo');
  const git = (...args: string[]) => execFileSync('git', ['-C', repo, ...args], { encoding: 'utf8' });
  git('init', '-q', '-b', 'main');
  const plain = (await steer<{ checkpoint: Checkpoint }>({ agent: 'hand@led', action: 'checkpoint' })).body.checkpoint;
  expect(plain.git).toBeNull();
  git('-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'one');
  git('config', 'core.fsmonitor', `touch ${repo}/ran-by-git`);
  writeFileSync(join(repo, 'new.txt'), 'x');
  await engine.call('POST', '/agents/hand@led/input', { text: 'echo I was here', keys: ['Enter'] });
  await waitFor(
    () => engine.call<{ text: string }>('GET', '/agents/hand@led/capture'),
    ({ body }) => /^I was here$/m.test(body.text),
  );
  await engine.until('hand@led', 'idle');
  const body = { agent: 'hand@led', action: 'checkpoint', note: 'before the change' };
  expect((await steer({ ...body, dryRun: true }, 'hand')).body).toMatchObject({
    dryRun: true,
    plan: { action: 'checkpoint', keys: [], records: ['steer.checkpoint'] },
  });
  const { checkpoint } = (await steer<{ checkpoint: Checkpoint }>(body, 'hand')).body;
  expect(checkpoint).toMatchObject({
    agent: 'hand@led',
    by: 'hand@led',
    note: 'before the change',
    state: 'idle',
    git: { head: git('rev-parse', 'HEAD').trim(), branch: 'main', changed: 1 },
  });
  expect(checkpoint.screen).toContain('I was here');
  expect(existsSync(join(repo, 'ran-by-git'))).toBe(false);
  const list = async (as: string | undefined, query = '') =>
    engine.call<{ checkpoints: Checkpoint[] }>(
      'GET',
      `/steer${query}`,
      undefined,
      as === undefined ? {} : { token: tokens.get(as) ?? '' },
    );
  expect((await list('hand')).body.checkpoints.map((one) => one.id)).toEqual([checkpoint.id, plain.id]);
  expect((await list('other')).body.checkpoints).toEqual([]);
  expect((await list('other', '?agent=hand@led')).status).toBe(403);
  expect((await list(undefined, '?agent=hand@led&limit=1')).body.checkpoints[0]?.id).toBe(checkpoint.id);
});

test('who is consulted gets the question in a thread, and the answer is where the asker reads it', async () => {
  const engine = shared.current;
  const asked = await steer<{ threadId: string; delivery: { state: string } }>(
    { agent: 'other@led', action: 'consult', note: '# Is this right?' },
    'lead',
  );
  expect(asked.status).toBe(200);
  expect(['verified', 'queued']).toContain(asked.body.delivery.state);
  const { threadId } = asked.body;
  const answered = await engine.call(
    'POST',
    '/send',
    { to: `channel:${threadId}`, text: 'It is.' },
    { token: tokens.get('other') ?? '' },
  );
  expect(answered.status).toBe(200);
  const { messages } = (
    await engine.call<{ messages: Message[] }>('GET', `/threads/${threadId}/messages`, undefined, {
      token: tokens.get('lead') ?? '',
    })
  ).body;
  expect(messages.map((one) => [one.from, one.text])).toEqual([
    ['other@led', 'It is.'],
    ['lead@led', '# Is this right?'],
  ]);
  expect((await steer({ agent: 'other@led', action: 'consult' }, 'lead')).status).toBe(400);
  expect((await steer({ agent: 'lead@led', action: 'consult', note: 'me?' }, 'lead')).status).toBe(400);
});

test('an interrupt ends the turn and hands over the note; an idle bot gets the note alone', async () => {
  const engine = shared.current;
  await makeSleep(engine, 'hand@led');
  const body = { agent: 'hand@led', action: 'interrupt', note: '# stop and read this' };
  expect((await steer({ ...body, dryRun: true }, 'lead')).body).toMatchObject({
    plan: { keys: ['C-c'], records: ['steer.interrupt', 'delivery.accepted', 'delivery'] },
  });
  expect((await engine.agent('hand@led')).state).toBe('working');
  const done = await steer<{ interrupted: boolean; keys: string[]; delivery: { id: string } }>(body, 'lead');
  expect(done.body).toMatchObject({ interrupted: true, keys: ['C-c'] });
  await engine.until('hand@led', 'idle');
  const seen = await waitFor(
    () => engine.call<{ text: string }>('GET', '/agents/hand@led/capture'),
    ({ body: shown }) => shown.text.includes('stop and read this'),
  );
  expect(seen.body.text).toContain('From lead@led');
  await engine.until('hand@led', 'idle');
  const idle = await steer<{ interrupted: boolean; delivery: null }>({ agent: 'hand@led', action: 'interrupt' });
  expect(idle.body).toEqual({ action: 'interrupt', interrupted: false, keys: [], delivery: null });
});

test.each([
  ['interrupt', 'lead@led', 'hand'],
  ['interrupt', 'hand@led', 'other'],
  ['interrupt', 'hand@led', 'hand'],
  ['checkpoint', 'hand@led', 'lead'],
])('a bot may not %s %s as %s', async (action, agent, as) => {
  expect((await steer({ agent, action }, as)).status).toBe(403);
});

test('nobody, an unknown action and a bot that does not run are refused', async () => {
  shared.current.team('still', 'bots:\n  - {bot: s, harness: shell}\n');
  await shared.current.call('GET', '/teams');
  expect((await steer({ agent: 'none@led', action: 'checkpoint' })).status).toBe(404);
  expect((await steer({ agent: 'hand@led', action: 'kill' })).status).toBe(400);
  expect((await steer({ agent: 's@still', action: 'interrupt' })).status).toBe(404);
  expect(
    (await steer<{ checkpoint: Checkpoint }>({ agent: 's@still', action: 'checkpoint' })).body.checkpoint,
  ).toMatchObject({
    state: 'offline',
    screen: '',
  });
});

test('of one bot only so many checkpoints are kept, the newest', async () => {
  const engine = shared.current;
  const { id } = await engine.agent('other@led');
  const { checkpoint } = (await steer<{ checkpoint: Checkpoint }>({ agent: 'other@led', action: 'checkpoint' })).body;
  await engine.store.write((tx) => {
    const row = 'INSERT INTO engine_checkpoint SELECT ?, workspace, agent_id, body FROM engine_checkpoint WHERE id = ?';
    for (let n = 0; n < maxCheckpoints; n += 1) tx.run(row, `checkpoint_0${n}`, checkpoint.id);
  });
  await steer({ agent: 'other@led', action: 'checkpoint' });
  const sql = 'SELECT id FROM engine_checkpoint WHERE agent_id = ? ORDER BY id';
  const kept = await engine.store.read((tx) => tx.all<{ id: string }>(sql, id));
  expect(kept).toHaveLength(maxCheckpoints);
  expect(kept.map((one) => one.id)).toContain(checkpoint.id);
});
