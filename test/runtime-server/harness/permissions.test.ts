import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import type { HarnessBot } from '../../../src/runtime-server/harness/harness.ts';
import { createScratch, eventually, gateOpen, reaches, type Scratch } from './bench-of-one.ts';

const agentId = 'agent_asks';
let scratch: Scratch;
let bot: HarnessBot;
let asked = 0;

beforeAll(async () => {
  scratch = createScratch();
  scratch.standIn('claude');
  bot = await scratch.up({ harness: 'claude', agentId });
  await gateOpen(bot);
});
afterEach(async () => {
  scratch.people.refuse = null;
  await bot.hook('Stop', {});
  await eventually(() => bot.explain().approvals.length === 0);
});
afterAll(() => scratch.close());

const question = (command = `make ${asked}`, more: Record<string, unknown> = {}) => {
  asked += 1;
  const ids = { session_id: 's', prompt_id: `p${asked}` };
  return { ...ids, tool_name: 'Bash', tool_input: { command, description: 'Make it' }, ...more };
};
const newest = () => {
  const hold = scratch.people.held.at(-1);
  if (!hold) throw new Error('Nothing was asked.');
  return hold;
};
/** Asks, and waits until the desk holds it. */
async function ask(payload = question(), signal?: AbortSignal) {
  const before = bot.explain().approvals.length;
  const answer = bot.hook('PermissionRequest', payload, signal);
  await eventually(() => bot.explain().approvals.length === before + 1);
  return { answer, payload, hold: newest() };
}
/** Timers whose long waits are short. */
const soon = { after: (ms: number, effect: () => void) => systemTimers.after(ms >= 5000 ? 1500 : ms, effect) };
const dialogOn = async () => {
  await bot.input({ keys: ['C-o'] });
  await eventually(() => bot.explain().bottom.join('\n').includes('Do you want to proceed?'));
};

test('a question waits as an approval with the exact command, the bot needs a person, and yes is what the hook prints', async () => {
  const { answer, hold } = await ask(question('touch made &&\n  ls'));
  expect(hold.ask).toMatchObject({
    source: 'harness',
    kind: 'permission',
    title: 'web@dev asks to run: touch made && …',
    summary: 'touch made &&\n  ls',
    agentId,
    actionHash: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(bot.state()).toMatchObject({ state: 'needs_you', reason: 'asks to run: touch made && ls' });
  expect(bot.explain().approvals).toEqual([hold.id]);
  expect(bot.gate().open).toBe(false);
  scratch.people.answer(hold.id, 'approve');
  expect(await answer).toEqual({
    hookSpecificOutput: { hookEventName: 'PermissionRequest', decision: { behavior: 'allow' } },
  });
  const steps = bot.explain().steps.map((step) => step.evidence);
  expect(steps).toContain(`asked a person: approval ${hold.id}`);
  expect(steps).toContain(`approval ${hold.id}: approve by local via browser`);
});

test('no tells the model why; an expired question leaves the dialog to the person at the pane', async () => {
  const no = await ask();
  scratch.people.answer(no.hold.id, 'reject', 'not on a Sunday');
  expect(await no.answer).toEqual({
    hookSpecificOutput: {
      hookEventName: 'PermissionRequest',
      decision: { behavior: 'deny', message: 'A person rejected this: not on a Sunday' },
    },
  });
  const late = await ask();
  scratch.people.expire(late.hold.id);
  expect(await late.answer).toEqual({});
});

test('two hooks of one question are one approval with one answer; the same command asked later is a new one', async () => {
  const payload = question();
  const first = await ask(payload);
  const second = bot.hook('PermissionRequest', payload);
  const held = scratch.people.held.length;
  scratch.people.answer(first.hold.id, 'approve');
  expect(await second).toEqual(await first.answer);
  expect(scratch.people.held).toHaveLength(held);
  const again = await ask(payload);
  expect(again.hold.id).not.toBe(first.hold.id);
});

test('a dialog that leaves the screen was answered there: the approval is withdrawn and the hook ends without a decision', async () => {
  const { answer, hold } = await ask();
  await dialogOn();
  await bot.input({ text: '1' });
  expect(await answer).toEqual({});
  expect(hold.ended).toEqual({ kind: 'withdrawn', surface: 'pane' });
});

test('a turn that is still drawn before the dialog comes up withdraws nothing', async () => {
  await bot.input({ keys: ['C-t'] });
  await reaches(bot, 'working');
  const { hold } = await ask();
  await reaches(bot, 'working');
  expect(hold.ended).toBeNull();
  await bot.input({ keys: ['C-t'] });
  await dialogOn();
  await reaches(bot, 'needs_you');
  expect(hold.ended).toBeNull();
  await bot.input({ text: '1' });
  await eventually(() => hold.ended !== null);
  expect(hold.ended).toEqual({ kind: 'withdrawn', surface: 'pane' });
});

test('a tool that has run was allowed in the pane: its approval is withdrawn, the other question stays and is told', async () => {
  const first = await ask(question('make one'));
  const second = await ask(question('make two'));
  await bot.hook('PostToolUse', { ...second.payload, tool_response: {} });
  expect(await second.answer).toEqual({});
  expect(second.hold.ended).toEqual({ kind: 'withdrawn', surface: 'pane' });
  expect(first.hold.ended).toBeNull();
  expect(bot.state().reason).toBe('asks to run: make one');
});

test('the end of the turn ends its questions, not those of a sub-agent', async () => {
  const main = await ask();
  const sub = await ask(question('make it apart', { agent_id: 'sub1' }));
  await bot.hook('Stop', {});
  expect(await main.answer).toEqual({});
  expect(sub.hold.ended).toBeNull();
  scratch.people.answer(sub.hold.id, 'approve');
  expect(await sub.answer).toMatchObject({ hookSpecificOutput: { decision: { behavior: 'allow' } } });
});

test('a rule of the person answers without asking anybody, and the bot never waits; other actions are asked', async () => {
  mkdirSync(join(scratch.work, '.gantry'));
  mkdirSync(join(scratch.work, 'src'));
  symlinkSync('/', join(scratch.work, 'src', 'out'));
  const policy = join(scratch.work, '.gantry', 'policy.yaml');
  writeFileSync(
    policy,
    `rules:
  - { when: { tool: shell.exec, command: "git push*" }, then: deny, reason: no pushes }
  - { when: { tool: shell.exec, command: "npm test" }, then: allow }
  - { when: { tool: file.write, path: "src/**", bot: web@dev }, then: allow }
`,
  );
  const held = scratch.people.held.length;
  expect(await bot.hook('PermissionRequest', question('npm test'))).toMatchObject({
    hookSpecificOutput: { decision: { behavior: 'allow' } },
  });
  expect(await bot.hook('PermissionRequest', question('git push origin'))).toMatchObject({
    hookSpecificOutput: {
      decision: { behavior: 'deny', message: 'Not allowed: .gantry/policy.yaml line 2: no pushes' },
    },
  });
  const write = (file_path: string) => question('', { tool_name: 'Write', tool_input: { file_path, content: 'x' } });
  expect(await bot.hook('PermissionRequest', write(join(scratch.work, 'src', 'new', 'a.ts')))).toMatchObject({
    hookSpecificOutput: { decision: { behavior: 'allow' } },
  });
  expect(bot.state().state).not.toBe('needs_you');
  expect(scratch.people.held).toHaveLength(held);
  // A link inside of `src` leads out of the workspace; `npm test && …` is another command, and so is one without its sandbox.
  const unconfined = { tool_input: { command: 'npm test', dangerouslyDisableSandbox: true } };
  for (const payload of [
    write(join(scratch.work, 'src', 'out', 'etc', 'x')),
    question('npm test && rm -rf /'),
    question('npm test', unconfined),
  ]) {
    const { hold } = await ask(payload);
    expect(hold.ended).toBeNull();
  }
  rmSync(policy);
});

test('the mark that lets tools report exists only while a question waits', async () => {
  const mark = join(scratch.paths(agentId).folder, 'asking');
  const { answer, hold } = await ask();
  await eventually(() => existsSync(mark));
  scratch.people.answer(hold.id, 'approve');
  await answer;
  await eventually(() => !existsSync(mark));
});

test('a question that takes more than yes or no is left to the pane, and so is one that cannot be asked', async () => {
  const held = scratch.people.held.length;
  expect(await bot.hook('PermissionRequest', { tool_name: 'AskUserQuestion', tool_input: {} })).toEqual({});
  expect(await bot.hook('PermissionRequest', { tool_name: 'ExitPlanMode', tool_input: { plan: 'x' } })).toEqual({});
  expect(await bot.hook('PermissionRequest', {})).toEqual({});
  scratch.people.refuse = new Error('the disk is full');
  expect(await bot.hook('PermissionRequest', question())).toEqual({});
  expect(scratch.people.held).toHaveLength(held);
  expect(bot.state().state).toBe('needs_you');
  expect(bot.explain().steps.at(-1)?.evidence).toContain('the disk is full');
});

test('a program that asks without end fills no inbox: twenty questions wait, the rest stays in the pane', async () => {
  const before = scratch.people.held.length;
  const asked = Array.from({ length: 20 }, (_, index) => bot.hook('PermissionRequest', question(`make ${index}`)));
  await eventually(() => bot.explain().approvals.length === 20);
  expect(await bot.hook('PermissionRequest', question('one more'))).toEqual({});
  expect(scratch.people.held).toHaveLength(before + 20);
  await bot.hook('Stop', {});
  expect(await Promise.all(asked)).toEqual(Array.from({ length: 20 }, () => ({})));
});

test('a hook whose connection was cut comes back to the same approval', async () => {
  const cut = new AbortController();
  const first = await ask(question(), cut.signal);
  const sentBack = expect(first.answer).rejects.toMatchObject({ code: 'transport' });
  cut.abort();
  await sentBack;
  expect(first.hold.ended).toBeNull();
  const back = bot.hook('PermissionRequest', first.payload);
  scratch.people.answer(first.hold.id, 'approve');
  expect(await back).toMatchObject({ hookSpecificOutput: { decision: { behavior: 'allow' } } });
});

test('a killed hook takes its approval along: nobody could hand the answer over', async () => {
  bot.close();
  bot = scratch.restarted(soon).attach(specOf(), bot.paneId);
  const cut = new AbortController();
  const { hold, answer } = await ask(question(), cut.signal);
  answer.catch(() => undefined);
  await dialogOn();
  cut.abort();
  await eventually(() => hold.ended !== null);
  expect(hold.ended).toEqual({ kind: 'withdrawn', surface: 'engine' });
  await bot.input({ text: '1' });
});

test('a runtime that lets go keeps the approval and sends the hook back; the next one joins it', async () => {
  const { answer, payload, hold } = await ask();
  const sentBack = expect(answer).rejects.toMatchObject({ code: 'transport' });
  bot.close();
  await sentBack;
  expect(hold.ended).toBeNull();
  bot = scratch.restarted().attach(specOf(), bot.paneId);
  const again = await ask(payload);
  expect(again.hold.id).toBe(hold.id);
  scratch.people.answer(hold.id, 'approve');
  expect(await again.answer).toMatchObject({ hookSpecificOutput: { decision: { behavior: 'allow' } } });
});

test('after a restart a question that nobody asks again and no dialog shows was answered in the pane', async () => {
  const { answer, hold } = await ask();
  answer.catch(() => undefined);
  bot.close();
  bot = scratch.restarted(soon).attach(specOf(), bot.paneId);
  await eventually(() => hold.ended !== null);
  expect(hold.ended).toEqual({ kind: 'withdrawn', surface: 'pane' });
});

test('a program that ended takes its questions along', async () => {
  const { answer, hold } = await ask();
  await bot.input({ keys: ['C-c'] });
  expect(await answer).toEqual({});
  expect(hold.ended).toEqual({ kind: 'withdrawn', surface: 'engine' });
});

const specOf = () => scratch.spec({ agentId, harness: 'claude' });
