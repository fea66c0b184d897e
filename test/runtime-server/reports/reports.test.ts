/** What bots report while their engine is away, with the real command line in the place of a bot's program and a real engine. */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { NodeCard, NodePage } from '../../../src/contracts/factory/node.ts';
import type { Report } from '../../../src/contracts/factory/report-routes.ts';
import type { RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { evidenceCheck } from '../../../src/host/runtime-checks.ts';
import { keepReport } from '../../../src/kit/spool/bot-spool.ts';
import { insertThread } from '../../../src/runtime-server/messaging/store/threads.ts';
import { type Ran, run } from '../../cli/support.ts';
import { type Engine, type EngineOptions, startEngine, waitFor } from '../engine.ts';

const team = `bots:
  - bot: coder
    role: coder
    harness: shell
  - bot: other
    role: other
    harness: shell
`;
const fix = { id: 'fix', title: 'Fix it', executor: 'role:coder', description: 'Fix what is broken.' };

interface Bot {
  readonly engine: Engine;
  readonly agentId: string;
  readonly dagId: string;
  readonly folder: string;
  readonly spool: string;
  /** As a program in its pane runs it. */
  gantry(...words: readonly string[]): Promise<Ran>;
  node(step?: string): Promise<NodePage>;
  reports(): string[];
}

/** A bot at work on a step. */
async function botAtWork(steps: readonly Record<string, unknown>[] = [fix], options: EngineOptions = {}): Promise<Bot> {
  const engine = await startEngine(options);
  engine.team('dev', team);
  engine.write('.gantry/templates/fix.json', JSON.stringify({ steps }));
  await engine.call('POST', '/teams/dev/up', {});
  await engine.until('coder@dev', 'idle');
  const { body } = await engine.call<RunStarted>('POST', '/runs', { template: 'fix', projectId: 'p' });
  const { dagId } = body;
  const node = async (step = 'fix') => (await engine.call<NodePage>('GET', `/nodes/${dagId}/${step}`)).body;
  await waitFor(node, ({ card }) => card.status === 'working');
  const { id: agentId } = await engine.agent('coder@dev');
  const folder = join(engine.home, 'run', 'bots', agentId);
  const spool = join(folder, 'spool');
  const env = {
    PATH: process.env.PATH ?? '',
    GANTRY_HOME: engine.home,
    GANTRY_URL_FILE: join(engine.home, 'run', 'url'),
    GANTRY_TOKEN_FILE: join(folder, 'token'),
    GANTRY_SPOOL: spool,
  };
  return {
    engine,
    agentId,
    dagId,
    folder,
    spool,
    gantry: (...words) => run(env, words),
    node,
    reports: () => readdirSync(spool).filter((name) => /^\d{12}\.json$/.test(name)),
  };
}

const ledgerOf = async ({ engine }: Bot, type: string) =>
  engine.ledger.query({ types: [type], order: 'ascending', limit: 100 });

test('what a bot reports while the engine is away is kept, and taken once at its next start', async () => {
  const bot = await botAtWork();
  await bot.engine.stop();
  const progress = await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'half', 'way', '--json');
  expect(progress).toMatchObject({ code: 0, err: '' });
  expect(progress.json()).toEqual({ kept: true, id: expect.stringMatching(/^rep_/) });
  const done = await bot.gantry('workspace', 'done', bot.dagId, 'fix', '--note', 'fixed');
  expect(done).toMatchObject({ code: 0, out: 'kept; it will be delivered\n' });
  expect(bot.reports()).toHaveLength(2);

  await bot.engine.restart();
  const page = await bot.node();
  expect(page.progressMd).toContain('half way');
  expect(page.card.status).toBe('done');
  expect(bot.reports()).toEqual([]);
  expect(await ledgerOf(bot, 'node.progress')).toHaveLength(1);

  await bot.engine.restart();
  expect(await ledgerOf(bot, 'node.progress')).toHaveLength(1);
});

test('a living engine answers a report at once, and nothing of it stays in the spool', async () => {
  const bot = await botAtWork();
  const progress = await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'half way', '--json');
  expect(progress.code).toBe(0);
  expect(progress.json()).toMatchObject({ stepId: 'fix', status: 'working' } satisfies Partial<NodeCard>);
  const refused = await bot.gantry('workspace', 'progress', bot.dagId, 'nothing', 'half way', '--json');
  expect(refused.code).toBe(2);
  expect(readdirSync(bot.spool).filter((name) => name !== 'work.json')).toEqual([]);
  expect(readFileSync(join(bot.folder, 'token'), 'utf8')).toMatch(/^gbot_/);
});

test('a report that is refused when it is taken comes back to its bot, and its step says so', async () => {
  const bot = await botAtWork([{ ...fix, proof: [{ line: 'what was wrong' }] }]);
  await bot.engine.stop();
  expect((await bot.gantry('workspace', 'done', bot.dagId, 'fix')).code).toBe(0);
  await bot.engine.restart();
  const page = await waitFor(bot.node, ({ progressMd }) => progressMd.includes('was refused'));
  expect(page.progressMd).toContain(
    'Gantry: a kept report (done) was refused: Fix it has no proof of: what was wrong.',
  );
  expect(page.card.status).toBe('needs_you');
  await waitFor(
    () => bot.engine.call<{ text: string }>('GET', '/agents/coder@dev/capture?lines=200'),
    ({ body }) => body.text.includes('Gantry was away when you reported'),
  );
  expect(bot.reports()).toEqual([]);
  expect(await ledgerOf(bot, 'report.refused')).toHaveLength(1);
  const list = async (query: string) => (await bot.engine.call<{ reports: Report[] }>('GET', `/reports${query}`)).body;
  const wanted = { agentId: bot.agentId, op: 'doneNode', nodeId: 'fix', outcome: 'refused' };
  expect((await list('?agent=coder@dev&outcome=refused')).reports).toMatchObject([
    { ...wanted, why: expect.stringContaining('has no proof of: what was wrong') },
  ]);
  expect(await list('?outcome=stale')).toEqual({ reports: [], nextCursor: null });
  expect((await list('?agent=other@dev')).reports).toEqual([]);
});

test('a proof is kept with its file, before the done that needs it', async () => {
  const bot = await botAtWork([{ ...fix, proof: [{ line: 'what was wrong' }] }]);
  await bot.engine.stop();
  const file = join(bot.folder, 'seen.txt');
  writeFileSync(file, 'a screw was loose');
  const proof = await bot.gantry('workspace', 'proof', bot.dagId, 'fix', file, '--line', 'what was wrong', '--json');
  expect(proof.json()).toMatchObject({ kept: true });
  expect((await bot.gantry('workspace', 'done', bot.dagId, 'fix')).code).toBe(0);
  await bot.engine.restart();
  expect(await ledgerOf(bot, 'report.refused')).toEqual([]);
  const { card, files } = await bot.node();
  // What a bot proves is accepted by somebody else.
  expect(card).toMatchObject({ status: 'needs_you', cause: 'proof_to_accept' });
  expect(files).toMatchObject([{ name: 'seen.txt', size: 17 }]);
  expect(readdirSync(bot.spool)).toEqual(['work.json']);
});

test('a report about an attempt that is over changes nothing and is kept as evidence', async () => {
  const bot = await botAtWork();
  await bot.engine.stop();
  expect((await bot.gantry('workspace', 'done', bot.dagId, 'fix')).code).toBe(0);
  // The engine that comes back gives the step away before it sees this spool.
  renameSync(bot.spool, `${bot.spool}.away`);
  await bot.engine.restart();
  await bot.engine.call('POST', `/nodes/${bot.dagId}/fix/retry`, {});
  await waitFor(bot.node, ({ card }) => card.status === 'working' && card.attempt === 2);
  await bot.engine.stop();
  renameSync(bot.spool, `${bot.spool}.new`);
  renameSync(`${bot.spool}.away`, bot.spool);
  await bot.engine.restart();
  expect((await bot.node()).card).toMatchObject({ attempt: 2, status: 'needs_you', cause: 'interrupted' });
  expect(bot.reports()).toEqual([]);
  expect(readdirSync(join(bot.folder, 'evidence'))).toEqual(['000000000001.json']);
  const bots = join(bot.engine.home, 'run', 'bots');
  expect(evidenceCheck(bots)).toMatchObject([
    { state: 'warn', fix: expect.stringContaining(join(bot.folder, 'evidence')) },
  ]);
  expect(evidenceCheck(join(bots, 'nowhere'))).toEqual([]);
  expect(await ledgerOf(bot, 'report.stale')).toHaveLength(1);
});

test('what is damaged, too large, a link, or of another bot is set aside, and what follows is taken', async () => {
  const bot = await botAtWork();
  const { id: otherId } = await bot.engine.agent('other@dev');
  const other = join(bot.engine.home, 'run', 'bots', otherId);
  const strangers = join(bot.engine.home, 'strangers');
  keepReport(strangers, readFileSync(join(other, 'token'), 'utf8').trim(), { op: 'sendMail', body: {} }, 1);
  await bot.engine.stop();
  const own = (number: number) => join(bot.spool, `${String(number).padStart(12, '0')}.json`);
  writeFileSync(own(1), '{"v":1,');
  writeFileSync(own(2), 'x'.repeat(6 * 1024 * 1024));
  symlinkSync(join(bot.engine.home, 'runtime.db'), own(3));
  renameSync(join(strangers, '000000000001.json'), own(4));
  mkdirSync(own(5));
  symlinkSync(other, join(bot.engine.home, 'run', 'bots', 'agent_link'));
  expect((await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'still here')).code).toBe(0);
  const text = readFileSync(own(6), 'utf8');
  writeFileSync(own(7), text.replace('still here', 'never said'));
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {});
  await bot.engine.restart();
  expect(warned.mock.calls.filter(([said]) => String(said).includes('set aside'))).toHaveLength(6);
  warned.mockRestore();
  const { progressMd } = await bot.node();
  expect(progressMd).toContain('still here');
  expect(progressMd).not.toContain('never said');
  expect(bot.reports()).toEqual([]);
  expect(readdirSync(join(bot.folder, 'evidence'))).toHaveLength(6);
  expect(statSync(join(bot.engine.home, 'runtime.db')).size).toBeGreaterThan(0);
});

test('a question that was put into the spool holds neither the start nor what follows it', async () => {
  const bot = await botAtWork();
  const token = readFileSync(join(bot.folder, 'token'), 'utf8').trim();
  await bot.engine.stop();
  const question = { op: 'agentHook', params: { event: 'PermissionRequest' }, body: { tool_name: 'Bash' } };
  keepReport(bot.spool, token, question, Date.now());
  expect((await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'still here')).code).toBe(0);
  const warned = vi.spyOn(console, 'warn').mockImplementation(() => {});
  await bot.engine.restart();
  warned.mockRestore();
  expect((await bot.node()).progressMd).toContain('still here');
  expect(readdirSync(join(bot.folder, 'evidence'))).toHaveLength(1);
});

test('a report that was taken and not removed is not taken again', async () => {
  const bot = await botAtWork();
  await bot.engine.stop();
  await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'only once');
  const file = join(bot.spool, '000000000001.json');
  const text = readFileSync(file, 'utf8');
  await bot.engine.restart();
  await bot.engine.stop();
  writeFileSync(file, text);
  await bot.engine.restart();
  expect((await bot.node()).progressMd.match(/only once/g)).toHaveLength(1);
  expect(bot.reports()).toEqual([]);
});

test('what a bot reported before its pane ended is taken with the token that it had', async () => {
  const bot = await botAtWork();
  const token = readFileSync(join(bot.folder, 'token'), 'utf8').trim();
  await bot.engine.call('POST', '/agents/coder@dev/input', { text: 'exit 0', keys: ['Enter'] });
  await bot.engine.until('coder@dev', 'offline');
  await waitFor(
    () => bot.engine.call('GET', '/agents', undefined, { token }),
    ({ status }) => status === 401,
  );
  await bot.engine.stop();
  expect((await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'last words')).code).toBe(0);
  await bot.engine.restart();
  expect((await bot.node()).progressMd).toContain('last words');
});

test('a full spool refuses with the code of a broken transport, and a person’s verb is not kept', async () => {
  const bot = await botAtWork();
  await bot.engine.stop();
  for (let number = 1; number <= 10_000; number += 1) {
    writeFileSync(join(bot.spool, `${String(number).padStart(12, '0')}.json`), '');
  }
  const full = await bot.gantry('workspace', 'progress', bot.dagId, 'fix', 'no more', '--json');
  expect(full.code).toBe(3);
  expect(full.json()).toMatchObject({ error: { code: 'transport', fact: expect.stringContaining('10000 reports') } });
  rmSync(bot.spool, { recursive: true });
  const asPerson = await run({ GANTRY_HOME: bot.engine.home }, ['workspace', 'progress', bot.dagId, 'fix', 'x']);
  expect(asPerson.code).toBe(3);
});

test('many reports are taken in their order, each once, and one that is refused among them undoes no other', async () => {
  const bot = await botAtWork();
  const token = readFileSync(join(bot.folder, 'token'), 'utf8').trim();
  await bot.engine.stop();
  const progress = (text: string, nodeId = 'fix') =>
    keepReport(
      bot.spool,
      token,
      { op: 'progressNode', params: { dagId: bot.dagId, nodeId }, body: { text } },
      Date.now(),
    );
  const said = Array.from({ length: 100 }, (_, index) => `report ${index + 1}.`);
  for (const [index, text] of said.entries()) {
    if (index === 41) progress('of nothing', 'nothing');
    // Carried out by another operation, in the middle of the others.
    if (index === 70)
      keepReport(bot.spool, token, { op: 'sendMail', body: { to: 'other@dev', subject: 'm', text: 'm' } }, 1);
    progress(text);
  }
  await bot.engine.restart();
  const { progressMd } = await bot.node();
  expect(progressMd.match(/report \d+\./g)).toEqual(said);
  expect(await ledgerOf(bot, 'report.refused')).toHaveLength(1);
  expect(bot.reports()).toEqual([]);
});

test('what a killed program left half written is removed after an hour, and what a report needs stays', async () => {
  const bot = await botAtWork([{ ...fix, proof: [{ line: 'what was wrong' }] }]);
  await bot.engine.stop();
  const id = `rep_${'a'.repeat(32)}`;
  const hourAgo = (Date.now() - 2 * 3_600_000) / 1000;
  const note = 'work.json.0123456789ab';
  for (const name of [`.${id}`, `${id}.form`, note, `.${id.replaceAll('a', 'b')}`])
    writeFileSync(join(bot.spool, name), 'half');
  for (const name of [`.${id}`, `${id}.form`, note]) utimesSync(join(bot.spool, name), hourAgo, hourAgo);
  await bot.engine.restart();
  expect(readdirSync(bot.spool).sort()).toEqual([`.${id.replaceAll('a', 'b')}`, 'work.json']);
});

test('a bot that asks “May I?” waits for its engine, and without one the answer is no, with a sentence', async () => {
  const bot = await botAtWork();
  await bot.engine.stop();
  const ask = (seconds: string) =>
    bot.gantry('gate', 'check', 'shell.exec', '--command', 'npm publish', '--wait', seconds);
  const never = await ask('1');
  expect([never.code, never.err]).toEqual([3, expect.stringContaining('Not allowed: Gantry is away')]);
  const asking = ask('60');
  await bot.engine.restart();
  const [question] = await waitFor(
    () => bot.engine.approvals.live(),
    (live) => live.length === 1,
  );
  const resolvedBy = { user: 'user_local', surface: 'web' };
  const at = new Date().toISOString();
  await bot.engine.approvals.answer({ id: question!.id, decision: 'approve', note: null, resolvedBy, at });
  expect((await asking).code).toBe(0);
});

test('a late reply asks its person before it leaves, and one that they refuse never does', async () => {
  const left: string[] = [];
  const bot = await botAtWork([fix], { channelOut: { append: (_tx, { text }) => void left.push(text), onMoved() {} } });
  const channel = { provider: 'demo', numberId: 'number_1', peer: '+15550100' };
  const thread = { id: 'thread_1', title: 'A text', agentId: bot.agentId, channel, at: Date.now() };
  await bot.engine.store.write((tx) => insertThread(tx, thread));
  await bot.engine.stop();
  const token = readFileSync(join(bot.folder, 'token'), 'utf8').trim();
  const reply = (text: string, at: number) =>
    keepReport(bot.spool, token, { op: 'sendMessage', body: { to: 'channel:thread_1', text } }, at);
  reply('yes to this', Date.now() - 11 * 60_000);
  reply('no to this', Date.now() - 11 * 60_000);
  // A clock that was set back in between says nothing about its age.
  reply('from the future', Date.now() + 60 * 60_000);
  reply('just now', Date.now());
  await bot.engine.restart();
  expect(left).toEqual(['just now']);
  const questions = await bot.engine.approvals.live();
  expect(questions.map(({ kind, summary }) => `${kind}: ${summary}`).sort()).toEqual([
    'late_reply: from the future',
    'late_reply: no to this',
    'late_reply: yes to this',
  ]);
  const answer = (text: string, decision: 'approve' | 'reject') =>
    bot.engine.approvals.answer({
      id: questions.find(({ summary }) => summary === text)!.id,
      decision,
      note: null,
      resolvedBy: { user: 'user_local', surface: 'web' },
      at: new Date().toISOString(),
    });
  await answer('yes to this', 'approve');
  await answer('no to this', 'reject');
  await waitFor(
    async () => bot.reports(),
    (files) => files.length === 1,
  );
  expect(left).toEqual(['just now', 'yes to this']);
  expect(await ledgerOf(bot, 'report.refused')).toHaveLength(1);
});
