/** What a hosted bot says when it cannot go on, and that nothing of what it was sent is lost or done twice. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { Spending } from '../../../src/contracts/factory/spending-routes.ts';
import { systemTimers, type Timers } from '../../../src/kit/clock/timers.ts';
import type { ModelReply } from '../../support/model-server/script.ts';
import { inOrder, text, tools } from '../../support/model-server/script.ts';
import { type Floor, openFloor, secretKey, steps, waits } from './support.ts';

let floor: Floor;
const ends: (() => Promise<void>)[] = [];
const onEnd = (end: () => Promise<void>) => void ends.push(end);
/** Pauses between tries of a model are not what is tested here. */
const modelTimers: Timers = { after: (ms, effect) => systemTimers.after(ms < 6000 ? ms / 50 : ms, effect) };
beforeAll(async () => {
  floor = await openFloor({ onEnd, modelTimers });
});
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});
const write = (path: string, content = 'x\n') => tools({ name: 'file_write', input: { path, content } });
const path = (name: string) => join(floor.engine.workspace, name);

test('without a key the bot needs its person, says what to set, and keeps the message', async () => {
  const bare = await openFloor({ onEnd, keys: {}, env: { ANTHROPIC_BASE_URL: '' } });
  const bot = await bare.team('dev');
  const sent = await bare.send(bot, 'Hello?');
  expect(sent).toMatchObject({
    via: 'hosted',
    state: 'queued',
    detail: expect.stringContaining('ANTHROPIC_API_KEY is not set'),
  });
  expect(await bare.engine.agent(bot)).toMatchObject({
    state: 'needs_you',
    stateReason: expect.stringMatching(/Set ANTHROPIC_API_KEY in the environment .* restart Gantry/),
    queueDepth: 1,
  });
  expect(bare.server.requests).toEqual([]);
});

test('the plan of a team names the hosted bots that have no provider', async () => {
  const bare = await openFloor({ onEnd, keys: {}, env: { ANTHROPIC_BASE_URL: '', OPENAI_BASE_URL: '' } });
  const bot = await bare.team('dev', 'model: mine/tiny');
  await bare.engine.call('POST', `/teams/${bot.split('@')[1]}/down`, {});
  const planned = await bare.engine.call('POST', `/teams/${bot.split('@')[1]}/up`, { dryRun: true });
  const reason = 'hosted: no provider is configured for mine/tiny, so its messages wait until you add one';
  expect(planned.body).toMatchObject({ plan: [{ agent: bot, reason }] });
});

test.each([
  [
    'a missing key',
    'model: anthropic/claude-x',
    'ANTHROPIC_API_KEY is not set',
    'anthropic',
    (_: string) => ({ key: secretKey }),
  ],
  [
    'an unknown model',
    'model: mine/tiny',
    'No provider is configured for the model "mine/tiny"',
    'mine',
    (url: string) => ({ baseUrl: `${url}/v1` }),
  ],
])('a hold for %s ends when that is added: the message is taken then', async (_, model, words, place, body) => {
  const bare = await openFloor({ onEnd, keys: {}, env: { ANTHROPIC_BASE_URL: '', OPENAI_BASE_URL: '' } });
  const bot = await bare.team('dev', model);
  const sent = await bare.send(bot, 'Hello?');
  expect(sent).toMatchObject({ state: 'queued', detail: expect.stringContaining(words) });
  const { body: spending } = await bare.engine.call<Spending>('GET', '/spending');
  expect(spending.holds).toMatchObject([{ kind: 'model', until: null, reason: expect.stringContaining(words) }]);
  bare.server.script(() => text('Here.'));
  const added = await bare.engine.call('PUT', `/models/${place}`, body(bare.server.url));
  expect(added.status, JSON.stringify(added.body)).toBe(200);
  // The vendor itself is not asked in a test: that it is tried at all is seen by the words.
  await vi.waitFor(async () => {
    const { stateReason } = await bare.engine.agent(bot);
    expect(stateReason ?? '').not.toContain(words);
  }, waits);
  if (place === 'anthropic') return;
  await vi.waitFor(async () => expect(await bare.delivery(sent.id, bot)).toMatchObject({ state: 'verified' }), waits);
  await bare.engine.until(bot, 'idle');
});

test('a bot that its model holds is let go on by hand, and its message is tried at once', async () => {
  const { engine, server } = floor;
  server.script(inOrder({ kind: 'error', status: 404, message: 'no such model' }, text('now it is there')));
  const bot = await floor.team('dev');
  const sent = await floor.send(bot, 'Hi');
  await engine.until(bot, 'needs_you');
  const { id } = await engine.agent(bot);
  const on = await engine.call('POST', `/agents/${id}/go-on`, {});
  expect(on).toMatchObject({
    status: 200,
    body: { hold: { kind: 'model', reason: expect.stringContaining('does not know') } },
  });
  await vi.waitFor(async () => expect(await floor.delivery(sent.id, bot)).toMatchObject({ state: 'verified' }), waits);
  await engine.until(bot, 'idle');
  expect((await engine.call('POST', `/agents/${id}/go-on`, {})).status).toBe(409);
});

test('teams check names a model that no endpoint has, also in a preset, before anything is started', async () => {
  const bare = await openFloor({ onEnd, keys: {}, env: { ANTHROPIC_BASE_URL: '', OPENAI_BASE_URL: '' } });
  const bots =
    'bots:\n  - { bot: dev, role: maker, binding: hosted, model: mine/tiny }\n  - { bot: two, binding: hosted, model: anthropic/claude-x }\n';
  bare.engine.team('own', `${bots}presets:\n  big: { bots: { two: { model: other/large } } }\n`);
  const { body } = await bare.engine.call('GET', '/teams/own/check');
  expect(body).toMatchObject({
    ok: false,
    problems: [
      { path: 'bots[0].model', message: expect.stringContaining('"mine/tiny"') },
      { path: 'presets.big.bots.two.model', message: expect.stringContaining('"other/large"') },
    ],
  });
});

test('a limit blocks until the service says, then the message goes on by itself', async () => {
  const { engine, server } = floor;
  server.script(inOrder({ kind: 'error', status: 429, message: 'too many', retryAfter: 1 }, text('now')));
  const bot = await floor.team('dev');
  const sent = await floor.send(bot, 'Hi');
  expect(sent).toMatchObject({ state: 'queued', via: 'hosted', detail: expect.stringContaining('too many') });
  expect(await engine.agent(bot)).toMatchObject({
    state: 'blocked',
    stateReason: expect.stringMatching(/next try is at 20\d\d-/),
  });
  await vi.waitFor(
    async () => expect(await floor.delivery(sent.id, bot)).toMatchObject({ state: 'verified', evidence: 'model' }),
    waits,
  );
  await engine.until(bot, 'idle');
});

test('a limit in the middle of a turn waits, and goes on without doing anything twice', async () => {
  const { engine, server } = floor;
  writeFileSync(path('count.txt'), '');
  const append = tools({ name: 'shell_exec', input: { command: 'echo once >> count.txt', shell: true } });
  engine.write('.gantry/policy.yaml', 'rules:\n  - { when: { tool: shell.exec }, then: allow }\n');
  server.script(
    inOrder(append, { kind: 'error', status: 429, message: 'used up', retryAfter: 1 }, text('It is there once.')),
  );
  const bot = await floor.team('dev');
  const thread = await floor.thread(bot);
  await floor.send(bot, 'Append.', { threadId: thread });
  expect(await engine.until(bot, 'blocked')).toMatchObject({
    stateReason: expect.stringMatching(/used up.*continues at/),
  });
  await engine.until(bot, 'idle');
  expect(readFileSync(path('count.txt'), 'utf8')).toBe('once\n');
  expect((await floor.messages(thread)).at(-1)).toMatchObject({ text: 'It is there once.' });
  engine.write('.gantry/policy.yaml', 'rules: []\n');
});

const troubles: [string, ModelReply, string, RegExp][] = [
  [
    'a refused key',
    { kind: 'error', status: 401, message: `no such key ${secretKey}` },
    'needs_you',
    /refused the key/,
  ],
  [
    'an unknown model',
    { kind: 'error', status: 404, message: 'no such model' },
    'needs_you',
    /does not know this model/,
  ],
  ['an overloaded service', { kind: 'error', status: 529, message: 'busy' }, 'blocked', /cannot answer now/],
  [
    'a page instead of an answer',
    { kind: 'garbage', body: '<html>' },
    'blocked',
    /does not speak this protocol|cannot be read/,
  ],
];
test.each(troubles)('%s keeps the message and says why', async (_what, reply, state, words) => {
  const { engine, server } = floor;
  server.script(() => reply);
  const bot = await floor.team('dev');
  const sent = await floor.send(bot, 'Hi');
  await vi.waitFor(async () => expect(await floor.delivery(sent.id, bot)).toMatchObject({ state: 'queued' }), waits);
  const agent = await engine.until(bot, state);
  expect(agent.stateReason).toMatch(words);
  expect(agent.stateReason).not.toContain(secretKey);
  expect(agent.queueDepth).toBe(1);
  expect(await floor.transcript(bot)).toBe('');
});

test('a message that the service can never take fails, and the next one is tried', async () => {
  const { engine, server } = floor;
  server.script(inOrder({ kind: 'error', status: 400, message: 'prompt is too long' }, text('fine')));
  const bot = await floor.team('dev');
  expect(await floor.send(bot, 'Hi')).toMatchObject({ state: 'failed', detail: expect.stringContaining('too long') });
  expect(await engine.agent(bot)).toMatchObject({ state: 'failed', queueDepth: 0 });
  expect(await floor.send(bot, 'Hi again')).toMatchObject({ state: 'verified' });
  await engine.until(bot, 'idle');
});

test('a refusal is said in the thread and leaves the bot ready', async () => {
  const { engine, server } = floor;
  server.script(() => ({ kind: 'refusal', text: 'I will not help with that.' }));
  const bot = await floor.team('dev');
  const thread = await floor.thread(bot);
  expect(await floor.send(bot, 'Do it', { threadId: thread })).toMatchObject({ state: 'verified' });
  expect(await engine.until(bot, 'idle')).toMatchObject({ stateReason: expect.stringContaining('declined') });
  await vi.waitFor(
    async () => expect((await floor.messages(thread)).at(-1)?.text).toBe('I will not help with that.'),
    waits,
  );
});

test('a turn that breaks off for good is failed with its reason, in state and thread', async () => {
  const { engine, server } = floor;
  server.script(() => ({ kind: 'cut', text: 'one two three four five' }));
  const bot = await floor.team('dev');
  const thread = await floor.thread(bot);
  await floor.send(bot, 'Go', { threadId: thread });
  expect(await engine.until(bot, 'failed')).toMatchObject({
    stateReason: expect.stringContaining('broke off partway'),
  });
  await vi.waitFor(
    async () => expect((await floor.messages(thread)).at(-1)?.text).toMatch(/did not finish: .*broke off/),
    waits,
  );
  server.script(() => text('back'));
  await floor.send(bot, 'Again');
  await engine.until(bot, 'idle');
});

test('messages that come while it works wait their turn, in order', async () => {
  const { engine, server } = floor;
  const told: string[] = [];
  server.script(async (request) => {
    told.push(request.lastUser.split('\n').at(-1) ?? '');
    return { kind: 'text', text: `heard ${told.length}`, pieces: 3, pauseMs: 100 };
  });
  const bot = await floor.team('dev');
  const first = await floor.send(bot, 'one');
  expect(first.state).toBe('verified');
  expect(await floor.send(bot, 'two')).toMatchObject({ state: 'queued', detail: expect.stringContaining('working') });
  const refused = await engine.call('POST', '/send', { to: bot, text: 'x', queue: false });
  expect(refused.status).toBe(409);
  await floor.send(bot, 'three');
  await vi.waitFor(() => expect(told).toEqual(['one', 'two', 'three']), waits);
  await engine.until(bot, 'idle');
});

test('an interrupt ends a turn that waits for a person; its question is withdrawn and nothing was done; there is no pane to type into or to capture', async () => {
  const { engine, server } = floor;
  server.script(() => write('never.txt'));
  const bot = await floor.team('dev');
  const thread = await floor.thread(bot);
  await floor.send(bot, 'Write', { threadId: thread });
  const question = await floor.question();
  const agent = await engine.agent(bot);
  const noPane = { status: 404, body: { error: { code: 'not_found', fact: expect.stringContaining('hosted bot') } } };
  expect(await engine.call('POST', `/agents/${agent.id}/input`, { text: 'hello' })).toMatchObject(noPane);
  expect(await engine.call('POST', `/agents/${agent.id}/input`, { keys: ['Escape'] })).toMatchObject(noPane);
  expect(await engine.call('GET', `/agents/${agent.id}/capture`)).toMatchObject(noPane);
  const steered = await engine.call('POST', '/steer', { agent: bot, action: 'interrupt' });
  expect(steered.body).toMatchObject({ interrupted: true, keys: [] });
  expect(await engine.until(bot, 'idle')).toMatchObject({ stateReason: expect.stringMatching(/^interrupted by /) });
  expect(existsSync(path('never.txt'))).toBe(false);
  await vi.waitFor(async () => expect(await engine.approvals.live()).toEqual([]), waits);
  expect((await engine.approvals.get(question.id))?.approval.resolvedBy?.surface).toBe('engine');
  await vi.waitFor(async () => expect((await floor.messages(thread)).at(-1)?.text).toContain('interrupted by'), waits);
});

test('PLAN_ONLY looks and never writes, whoever asks for it', async () => {
  const { engine, server } = floor;
  const told: string[] = [];
  writeFileSync(path('plan.txt'), 'the plan');
  server.script(
    steps(
      tools(
        { name: 'file_read', input: { path: 'plan.txt' } },
        { name: 'file_write', input: { path: 'no.txt', content: 'x' } },
        { name: 'shell_exec', input: { command: 'touch', args: ['no.txt'] } },
        { name: 'file_remove', input: { path: 'plan.txt' } },
      ),
      (request) => {
        told.push(...request.toolResults.map((one) => one.text));
        return text('I only looked.');
      },
    ),
  );
  const bot = await floor.team('dev', 'model: claude-x, permissions: PLAN_ONLY');
  await floor.send(bot, 'Go');
  await engine.until(bot, 'idle');
  expect(told[0]).toContain('the plan');
  for (const refused of told.slice(1)) expect(refused).toContain('PLAN_ONLY');
  expect(existsSync(path('no.txt'))).toBe(false);
  expect(existsSync(path('plan.txt'))).toBe(true);
  expect(await engine.approvals.live()).toEqual([]);
});

test('ACCEPT_EDITS writes files unasked, but asks for commands and for what steers Gantry and git', async () => {
  const { engine, server } = floor;
  server.script(
    inOrder(write('edited.txt'), write('.gantry/policy.yaml', 'rules:\n  - { when: {}, then: allow }\n'), text('done')),
  );
  const bot = await floor.team('dev', 'model: claude-x, permissions: ACCEPT_EDITS');
  await floor.send(bot, 'Go');
  const question = await floor.question();
  expect(existsSync(path('edited.txt'))).toBe(true);
  expect(question).toMatchObject({ title: expect.stringContaining('.gantry/policy.yaml'), risk: 'high' });
  await floor.answer(question.id, 'reject');
  await engine.until(bot, 'idle');
  server.script(inOrder(tools({ name: 'shell_exec', input: { command: 'true' } }), text('done')));
  await floor.send(bot, 'Run');
  const command = await floor.question();
  expect(command.summary).toBe('true');
  await floor.answer(command.id, 'approve');
  await engine.until(bot, 'idle');
});

test('a message lends no more rights than its sender has', async () => {
  const { engine, server } = floor;
  engine.team(
    'mixed',
    'bots:\n  - { bot: sh, harness: shell }\n  - { bot: dev, binding: hosted, model: claude-x, permissions: ACCEPT_EDITS }\n',
  );
  await engine.call('POST', '/teams/mixed/up', {});
  await engine.until('sh@mixed', 'idle');
  server.script(inOrder(write('lent.txt'), text('done')));
  const token = await engine.botToken('sh@mixed');
  const sent = await engine.call('POST', '/send', { to: 'dev@mixed', text: 'write it' }, { token });
  expect(sent.status).toBe(200);
  const question = await floor.question();
  expect(existsSync(path('lent.txt'))).toBe(false);
  await floor.answer(question.id, 'approve');
  await engine.until('dev@mixed', 'idle');
  expect(existsSync(path('lent.txt'))).toBe(true);
});

test('what is spent is written down a request, with the price where it is known', async () => {
  const { engine, server } = floor;
  server.script(inOrder(tools({ name: 'file_list', input: {} }), text('done')));
  const known = await floor.team('dev', 'model: claude-haiku-4-5-20251001');
  await floor.send(known, 'Go');
  await engine.until(known, 'idle');
  const rows = (agentId: string) =>
    engine.store.read((tx) =>
      tx.all('SELECT model, input, output, micro_usd FROM model_spend WHERE agent_id = ? ORDER BY id', agentId),
    );
  const cost = 10 * 1 + 20 * 5;
  const row = { model: 'claude-haiku-4-5-20251001', input: 10, output: 20, micro_usd: cost };
  expect(await rows((await engine.agent(known)).id)).toEqual([row, row]);
  const unknown = await floor.team('dev', 'model: claude-of-tomorrow');
  await floor.send(unknown, 'Go');
  await engine.until(unknown, 'idle');
  expect(await rows((await engine.agent(unknown)).id)).toMatchObject([{ micro_usd: null }]);
});

test('a limit of dollars needs a known price, and says so before anything is spent', async () => {
  const { engine, server } = floor;
  const before = server.requests.length;
  const bot = await floor.team('dev', 'model: claude-of-tomorrow, limits: { usd: 1 }');
  await floor.send(bot, 'Go');
  expect(await engine.agent(bot)).toMatchObject({
    state: 'needs_you',
    stateReason: expect.stringContaining('price of claude-of-tomorrow is unknown'),
  });
  expect(server.requests).toHaveLength(before);
});

test('limits of a bot end its turn, and say which', async () => {
  const { engine, server } = floor;
  server.script(() => tools({ name: 'file_list', input: {} }));
  const bot = await floor.team('dev', 'model: claude-x, limits: { steps: 3 }');
  await floor.send(bot, 'Go');
  expect(await engine.until(bot, 'failed')).toMatchObject({ stateReason: 'It reached its limit of 3 steps.' });
});

test('a day’s dollars used up block the bot until the next day', async () => {
  const poor = await openFloor({ onEnd, modelTimers, models: { limits: { dailyUsd: 0.00005 } } });
  poor.server.script(() => text('expensive'));
  const bot = await poor.team('dev', 'model: claude-haiku-4-5');
  await poor.send(bot, 'One');
  await poor.engine.until(bot, 'idle');
  expect(await poor.send(bot, 'Two')).toMatchObject({ state: 'queued' });
  expect(await poor.engine.agent(bot)).toMatchObject({
    state: 'blocked',
    stateReason: expect.stringMatching(/a day\. It continues at .*T00:00:00/),
  });
});

test('calls that make no sense are answered with what is wrong, and the turn goes on', async () => {
  const { engine, server } = floor;
  let told: string[] = [];
  server.script(
    steps(
      tools(
        { name: 'rm_rf', input: {} },
        { name: 'file_read', input: { path: 5 } },
        { name: 'file_read', input: { path: '../../etc/passwd' } },
      ),
      (request) => {
        told = request.toolResults.map((one) => one.text);
        return text('I see.');
      },
    ),
  );
  const bot = await floor.team('dev');
  await floor.send(bot, 'Go');
  await engine.until(bot, 'idle');
  expect(told[0]).toContain('There is no tool "rm_rf"');
  expect(told[1]).toMatch(/does not take this: path/);
  expect(told[2]).toContain('is outside');
});

test('commands see no key of Gantry, and end with everything that they started', async () => {
  const { engine, server } = floor;
  let told = '';
  // Found by its words: in a sandbox its number is one of its own.
  const word = `3${Date.now()}`;
  server.script(
    steps(tools({ name: 'shell_exec', input: { command: `env; setsid sleep ${word} &`, shell: true } }), (request) => {
      told = request.toolResults[0]?.text ?? '';
      return text('ok');
    }),
  );
  const bot = await floor.team('dev');
  await floor.send(bot, 'Go');
  await floor.answer((await floor.question()).id, 'approve');
  await engine.until(bot, 'idle');
  expect(told).toContain('PATH=');
  expect(told).not.toContain(secretKey);
  expect(told).not.toMatch(/GANTRY_(URL|TOKEN|HOME)/);
  expect(execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' })).not.toContain(`sleep ${word}`);
});

/** A zombie that nobody has collected yet is dead. */
