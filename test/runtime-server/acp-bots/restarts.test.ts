/** Agents over ACP that end, print what they should not, or live when Gantry stops: what they were told is neither lost nor told twice. */
import { expect, test, vi } from 'vitest';
import { startEngine } from '../engine.ts';
import {
  agentTeam,
  agentUp,
  conversation,
  delivery,
  knownAgentTeam,
  messages,
  send,
  told,
  transcript,
  waits,
} from './support.ts';

test('after a restart of Gantry the agent continues its session, and nothing of its replay is kept twice', async () => {
  const engine = await startEngine();
  const to = await agentTeam(engine);
  await send(engine, to, 'hello');
  await engine.until(to, 'idle');
  const before = await told(engine, to);
  await engine.restart();
  await engine.until(to, 'idle');
  expect(await told(engine, to)).toEqual(before);
  await send(engine, to, 'how often');
  await vi.waitFor(async () => expect((await told(engine, to)).at(-1)).toBe('text 2 times'), waits);
});

test('an agent that cannot load a session begins a new one, and that is told', async () => {
  const engine = await startEngine();
  const to = await agentTeam(engine, ' --no-load');
  await send(engine, to, 'hello');
  await engine.until(to, 'idle');
  await engine.restart();
  await engine.until(to, 'idle');
  expect((await told(engine, to)).at(-1)).toBe('note A new conversation begins: the agent cannot continue a session.');
});

test('a session is resumed without a replay where the agent can, in the mode that a person set', async () => {
  const engine = await startEngine();
  const to = await agentTeam(engine, ' --resume --modes');
  await send(engine, to, 'hello');
  await engine.until(to, 'idle');
  await engine.call('POST', `/agents/${to}/mode`, { mode: 'plan' });
  await engine.restart();
  await engine.until(to, 'idle');
  await send(engine, to, 'which mode');
  await vi.waitFor(async () => expect((await told(engine, to)).at(-1)).toBe('text mode plan'), waits);
});

test('an agent that begins in a mode that asks nobody works in the one that asks, until its person chooses another', async () => {
  const engine = await startEngine();
  const to = await knownAgentTeam(engine, 'claude-agent-acp', '--modes --unasked');
  const works = async () => {
    await engine.until(to, 'idle');
    await send(engine, to, 'which mode');
    await engine.until(to, 'idle');
    return (await told(engine, to)).at(-1);
  };
  expect(await works()).toBe('text mode default');
  expect((await conversation(engine, to)).modes?.current).toBe('default');
  await engine.call('POST', `/agents/${to}/mode`, { mode: 'auto' });
  await engine.restart();
  expect(await works()).toBe('text mode auto');
});

test('a turn in which Gantry stops is interrupted, its thread is told, and it is not repeated', async () => {
  const engine = await startEngine();
  const to = await agentTeam(engine);
  const made = await engine.call<{ id: string }>('POST', '/threads', { title: 'talk', bot: to });
  const sent = await send(engine, to, 'hang', { threadId: made.body.id });
  expect(sent.state).toBe('verified');
  await engine.restart();
  expect((await engine.until(to, 'idle')).stateReason).toMatch(/^interrupted: /);
  await vi.waitFor(async () => {
    const said = (await messages(engine, made.body.id)).map(({ text }) => text);
    expect(said).toEqual(['hang', expect.stringContaining('Gantry stopped during this turn')]);
  }, waits);
  await send(engine, to, 'how often');
  await vi.waitFor(async () => expect((await told(engine, to)).at(-1)).toBe('text 2 times'), waits);
});

test('an agent that ends is started again, and one that ends again and again is given up with what it printed', async () => {
  const engine = await startEngine();
  const to = await agentTeam(engine);
  const sent = await send(engine, to, 'die at once');
  expect(sent).toMatchObject({ state: 'unconfirmed', detail: expect.stringContaining('exit code 3') });
  await engine.until(to, 'idle');
  expect(await told(engine, to)).toContain('note The agent ended (exit code 3).');
  const broken = await agentUp(engine, ' --broken');
  await engine.until(broken, 'idle');
  for (let n = 0; n < 3; n += 1) {
    await vi.waitFor(async () => {
      const { state } = await engine.agent(broken);
      expect(['idle', 'failed']).toContain(state);
    }, waits);
    await send(engine, broken, 'die at once');
  }
  expect((await engine.until(broken, 'failed')).stateReason).toContain('exit code 3');
  // Its person looks, and starts it again.
  await engine.call('POST', `/teams/${broken.split('@')[1]}/down`, {});
  await engine.call('POST', `/teams/${broken.split('@')[1]}/up`, {});
  await engine.until(broken, 'idle');
}, 60_000);

test('what an agent prints besides messages is left out and told once, and a flood arrives whole', async () => {
  const engine = await startEngine();
  const to = await agentTeam(engine);
  await send(engine, to, 'junk');
  await engine.until(to, 'idle');
  expect(await told(engine, to)).toEqual([
    expect.stringMatching(/junk$/),
    'note The agent printed a line that is no message: this is a log line. It is left out, like all such lines.',
    'text You said: junk',
  ]);
  await send(engine, to, 'flood 5000');
  await engine.until(to, 'idle');
  const { entries } = await conversation(engine, to);
  expect(entries.at(-1)?.text).toContain('4998 4999 ');
}, 60_000);

test('stopping a team ends its agents and their turns, and their conversations stay readable', async () => {
  const engine = await startEngine();
  const to = await agentTeam(engine);
  const sent = await send(engine, to, 'hang');
  await engine.call('POST', `/teams/${to.split('@')[1]}/down`, {});
  expect(await engine.agent(to)).toMatchObject({ state: 'offline', pane: null });
  expect(await transcript(engine, to)).toContain('I am on it.');
  expect(await delivery(engine, to, sent.id)).toMatchObject({ state: 'verified' });
  const waiting = await send(engine, to, 'later');
  expect(waiting).toMatchObject({ via: 'acp', state: 'queued' });
  await engine.call('POST', `/teams/${to.split('@')[1]}/up`, {});
  await vi.waitFor(
    async () => expect(await delivery(engine, to, waiting.id)).toMatchObject({ state: 'verified' }),
    waits,
  );
});
