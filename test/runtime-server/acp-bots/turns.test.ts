/** Bots over ACP take messages, answer, and are read: the whole way over HTTP, with a stand-in agent that speaks the protocol. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { sharedEngine } from '../engine.ts';
import { agentTeam, agentUp, conversation, delivery, messages, send, told, transcript, waits } from './support.ts';

const shared = sharedEngine();

test('a message is verified by the agent itself, and its answer is read as transcript, capture and conversation', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  expect(await engine.agent(to)).toMatchObject({
    binding: { type: 'terminal', harness: 'acp' },
    pane: null,
    runner: 'local',
  });
  const sent = await send(engine, to, 'hello there');
  expect(sent).toMatchObject({ via: 'acp', state: 'verified', evidence: 'acp' });
  await engine.until(to, 'idle');
  expect(await told(engine, to)).toEqual([
    expect.stringMatching(/^user From owner .*hello there$/s),
    'text You said: hello there',
  ]);
  const read = await transcript(engine, to);
  expect(read).toMatch(/^> From owner/);
  expect(read).toContain('You said: hello there');
  const captured = await engine.call<{ text: string }>('GET', `/agents/${to}/capture?lines=1`);
  expect(captured.body.text).toBe('You said: hello there');
});

test('screen and input of a bot over ACP are not found, with what to do instead', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  for (const [method, path, body] of [
    ['GET', 'screen', undefined],
    ['GET', 'stream', undefined],
    ['POST', 'input', { text: 'x' }],
  ] as const) {
    const refused = await engine.call<{ error: { code: string; fact: string; action: string } }>(
      method,
      `/agents/${to}/${path}`,
      body,
    );
    expect(refused).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
    expect(refused.body.error.fact).toContain('speaks ACP');
    expect(refused.body.error.action).toContain('transcript');
  }
});

test('a thought, a plan and the mode of working are kept beside what is said', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine, ' --modes');
  await send(engine, to, 'think and make a plan');
  await engine.until(to, 'idle');
  const page = await conversation(engine, to);
  expect(page.entries.map(({ kind }) => kind)).toEqual(['user', 'thought', 'plan', 'text']);
  expect(page.entries[2]?.plan).toEqual([
    { text: 'Look', status: 'completed' },
    { text: 'Write', status: 'pending' },
  ]);
  expect(page.modes).toMatchObject({ current: 'ask', available: [{ id: 'ask' }, { id: 'plan' }] });
  const nothing = await conversation(engine, to, `?after=${page.rev}`);
  expect(nothing).toMatchObject({ entries: [], rev: page.rev });
  expect(await engine.call('POST', `/agents/${to}/mode`, { mode: 'yolo' })).toMatchObject({ status: 400 });
  expect(await engine.call('POST', `/agents/${to}/mode`, { mode: 'plan' })).toMatchObject({
    body: { current: 'plan' },
  });
  await send(engine, to, 'which mode');
  await vi.waitFor(async () => expect((await told(engine, to)).at(-1)).toBe('text mode plan'), waits);
});

test('a message from a thread is answered in it, once, with what the agent said last', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  const made = await engine.call<{ id: string }>('POST', '/threads', { title: 'talk', bot: to });
  await send(engine, to, 'hello', { threadId: made.body.id });
  await vi.waitFor(async () => {
    const said = await messages(engine, made.body.id);
    expect(said.map(({ direction, text }) => [direction, text])).toEqual([
      ['in', 'hello'],
      ['out', 'You said: hello'],
    ]);
  }, waits);
});

test('messages that come while the agent works wait, and arrive in order, each once', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  await send(engine, to, 'wait-for go');
  const sent: Delivery[] = [];
  for (let n = 0; n < 5; n += 1) sent.push(await send(engine, to, `number ${n}`));
  expect(sent[0]).toMatchObject({ via: 'acp', state: 'queued' });
  writeFileSync(join(engine.workspace, 'go'), '');
  await vi.waitFor(async () => {
    const last = await delivery(engine, to, sent.at(-1)?.id ?? '');
    expect(last).toMatchObject({ state: 'verified', evidence: 'acp' });
    const answers = (await told(engine, to)).filter((one) => one.startsWith('text You said: number'));
    expect(answers).toEqual([0, 1, 2, 3, 4].map((n) => `text You said: number ${n}`));
  }, waits);
});

test('a turn that the agent declines or fails is told as it is, and the next message is taken', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  await send(engine, to, 'refuse');
  await vi.waitFor(async () => expect((await engine.agent(to)).stateReason).toContain('declined'), waits);
  expect(await send(engine, to, 'fail')).toMatchObject({ state: 'failed', detail: expect.stringContaining('on fire') });
  expect(await engine.agent(to)).toMatchObject({ state: 'failed' });
  expect(await send(engine, to, 'hello')).toMatchObject({ state: 'verified' });
  await engine.until(to, 'idle');
});

test('Gantry’s tools are offered to the agent with its own address', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  await send(engine, to, 'which tools');
  await vi.waitFor(async () => {
    expect((await told(engine, to)).at(-1)).toBe(`text [["gantry","${engine.url}/mcp/server?names=safe"]]`);
  }, waits);
});

test('an agent that needs a sign-in, speaks another version or is missing is told, and nothing waits for it', async () => {
  const engine = shared.current;
  const signIn = await agentUp(engine, ' --sign-in');
  await engine.until(signIn, 'needs_you');
  expect((await engine.agent(signIn)).stateReason).toContain('Sign in with a browser');
  const old = await agentUp(engine, ' --old');
  await engine.until(old, 'failed');
  expect((await engine.agent(old)).stateReason).toContain('version 7');
  engine.team('gone', 'bots:\n  - { bot: dev, harness: acp, command: no-such-agent --acp }\n');
  const up = await engine.call<{ error: { fact: string } }>('POST', '/teams/gone/up', {});
  expect(up.status).toBe(400);
  expect(up.body.error.fact).toContain('"no-such-agent" of dev@gone was not found');
});

test('the plan of a start shows the command that a known name means, and a bot without one is a problem', async () => {
  const engine = shared.current;
  engine.team('known', 'bots:\n  - { bot: dev, harness: acp, command: gemini }\n');
  const checked = await engine.call<{ problems: unknown[] }>('GET', '/teams/known/check');
  expect(checked.body.problems).toEqual([]);
  engine.team('bare', 'bots:\n  - { bot: dev, harness: acp }\n  - { bot: two, harnesses: [acp, shell] }\n');
  const bare = await engine.call<{ problems: { message: string }[] }>('GET', '/teams/bare/check');
  expect(bare.body.problems.map(({ message }) => message)).toEqual([
    'Bot "dev" has harness acp but no command. Add command, such as gemini.',
    'Bot "two" lists acp as one harness of several. Use harness: acp instead.',
  ]);
});
