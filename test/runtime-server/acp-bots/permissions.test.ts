/** What an agent over ACP may do: a rule or a person answers, once, and nothing is left waiting when the agent is gone. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { sharedEngine } from '../engine.ts';
import { agentTeam, answer, conversation, delivery, question, send, told, waits } from './support.ts';

const shared = sharedEngine();
const steer = (agent: string) => ['/steer', { action: 'interrupt', agent }] as const;

test('a change is asked about as a diff, and a yes lets exactly it happen', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  await send(engine, to, 'edit yes.txt');
  const asked = await question(engine);
  expect(asked).toMatchObject({ source: 'harness', kind: 'permission', agentId: (await engine.agent(to)).id });
  expect(asked.title).toBe(`${to} asks to change ${join(engine.workspace, 'yes.txt')}`);
  expect(asked.summary).toContain('+made by the agent');
  expect(await engine.agent(to)).toMatchObject({
    state: 'needs_you',
    stateReason: expect.stringMatching(/^asks: change .*yes\.txt$/),
  });
  expect(existsSync(join(engine.workspace, 'yes.txt'))).toBe(false);
  expect(await answer(engine, asked.id, 'approve')).toBe('applied');
  // The second of two answers finds that the first one has won.
  expect(await answer(engine, asked.id, 'reject')).not.toBe('applied');
  await engine.until(to, 'idle');
  expect(existsSync(join(engine.workspace, 'yes.txt'))).toBe(true);
  const { entries } = await conversation(engine, to);
  expect(entries.map(({ kind }) => kind)).toEqual(['user', 'tool', 'question', 'text']);
  expect(entries[1]?.tool).toMatchObject({
    kind: 'edit',
    status: 'done',
    diffs: [{ path: join(engine.workspace, 'yes.txt'), before: null, after: 'made by the agent\n' }],
  });
  expect(entries[2]?.question).toEqual({ approvalId: asked.id, answer: 'approved' });
});

test('a message is verified by a question that comes before any report', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  const sent = await send(engine, to, 'edit first.txt unreported');
  const asked = await question(engine);
  await vi.waitFor(async () => expect(await delivery(engine, to, sent.id)).toMatchObject({ state: 'verified' }), waits);
  await answer(engine, asked.id, 'reject');
  await engine.until(to, 'idle');
});

test('a no is a single no, and a note of the person stands in the conversation', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  await send(engine, to, 'edit no.txt');
  const asked = await question(engine);
  await answer(engine, asked.id, 'reject', 'not that file');
  await engine.until(to, 'idle');
  expect(await told(engine, to)).toEqual(
    expect.arrayContaining(['text The answer was no.', 'note A person said: not that file']),
  );
  expect(existsSync(join(engine.workspace, 'no.txt'))).toBe(false);
});

test('a rule of the person answers before anybody is asked', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  engine.write(
    '.gantry/policy.yaml',
    'rules:\n  - when: { tool: shell.exec, command: "ls *" }\n    then: allow\n  - when: { tool: shell.exec, command: "rm *" }\n    then: deny\n',
  );
  await send(engine, to, 'run `ls -la`');
  await vi.waitFor(async () => expect((await told(engine, to)).at(-1)).toBe('text The answer was once.'), waits);
  await send(engine, to, 'run `rm -rf x`');
  await vi.waitFor(async () => expect((await told(engine, to)).at(-1)).toBe('text The answer was no.'), waits);
  expect((await engine.approvals.live()).length).toBe(0);
  engine.write('.gantry/policy.yaml', 'rules: []\n');
});

test('an agent that offers no single yes gets none', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  await send(engine, to, 'run `ls` only always');
  const asked = await question(engine);
  expect(asked.summary).toBe('ls');
  await answer(engine, asked.id, 'approve');
  await vi.waitFor(async () => expect((await told(engine, to)).at(-1)).toBe('text The answer was cancelled.'), waits);
});

test('the question of an agent that dies is withdrawn, and the agent is started again in its conversation', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  await send(engine, to, 'edit x.txt and die asking');
  const asked = await question(engine);
  await vi.waitFor(async () => expect(await engine.approvals.live()).toEqual([]), waits);
  expect(await answer(engine, asked.id, 'approve')).not.toBe('applied');
  await engine.until(to, 'idle');
  expect(await told(engine, to)).toContain(`question ${asked.title} withdrawn`);
  await send(engine, to, 'how often');
  await vi.waitFor(async () => expect((await told(engine, to)).at(-1)).toBe('text 2 times'), waits);
});

test('an interrupt is seen to end, also in a question and where the agent does not listen', async () => {
  const engine = shared.current;
  const to = await agentTeam(engine);
  for (const text of ['hang', 'edit y.txt', 'deaf']) {
    await send(engine, to, text);
    if (text.startsWith('edit')) await question(engine);
    const [path, body] = steer(to);
    const steered = await engine.call('POST', path, body);
    expect(steered.status, JSON.stringify(steered.body)).toBe(200);
    await engine.until(to, 'idle');
    expect(await engine.approvals.live()).toEqual([]);
  }
  expect(existsSync(join(engine.workspace, 'y.txt'))).toBe(false);
  expect(await send(engine, to, 'hello')).toMatchObject({ state: 'verified' });
}, 60_000);
