import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { readComposer } from '../../../src/runtime-server/harness/claude/composer.ts';
import { claudeRules, trustChoice, trustRule } from '../../../src/runtime-server/harness/claude/rules.ts';
import { createJudge } from '../../../src/runtime-server/harness/judge/judge.ts';
import { compileRules } from '../../../src/runtime-server/harness/judge/rules.ts';
import { handClock, recording, replay, usualRecordings } from './replay.ts';

const dialog = 'needs_you: asks: do you want to proceed?';

/** The screen alone, without any hook, from the state before the recording. */
test.each([
  [
    'first-start',
    'starting',
    [
      'starting',
      'needs_you: first start: asks for a text style',
      'needs_you: first start: security notes wait to be read',
      'needs_you: asks whether the folder is trusted',
    ],
  ],
  ...usualRecordings(dialog),
  ['dialog-answered', 'needs_you', ['needs_you', 'working', 'idle']],
  ['exit', 'idle', ['idle', 'idle: unclear']],
] as const)('the recording %s is judged as a person would', async (name, from, states) => {
  expect((await replay(`claude/${name}.cast`, claudeRules, { from })).states).toEqual(states);
});

test('retries are working with the reason in words, and end idle', async () => {
  const { states } = await replay('claude/error.cast', claudeRules, { from: 'working' });
  expect(states[0]).toBe('working');
  expect(states).toContain(
    'working: its provider refuses; 429 Too many requests, slow down · retrying in 2s · attempt 2/2',
  );
  expect(states.at(-1)).toBe('idle');
});

test('first-run screens hold messages as setup; a permission dialog does not', async () => {
  expect((await replay('claude/first-start.cast', claudeRules)).judge.setup()).toBe(true);
  expect((await replay('claude/permission-dialog.cast', claudeRules, { from: 'working' })).judge.setup()).toBe(false);
});

test.each(['error', 'typed-while-working', 'start-idle', 'interrupt', 'big-paste'])(
  'in the recording %s the composer is empty, ghost text or not',
  async (name) => {
    expect(readComposer((await replay(`claude/${name}.cast`, claudeRules)).facts)).toEqual({ kind: 'empty' });
  },
);

test('with a dialog or a trust screen the composer is closed', async () => {
  for (const name of ['permission-dialog', 'first-start']) {
    expect(readComposer((await replay(`claude/${name}.cast`, claudeRules)).facts)).toEqual({ kind: 'closed' });
  }
});

test('the recorded hooks give every turn its beginning, its question and its end', () => {
  const clock = handClock();
  const judge = createJudge({ ruleset: claudeRules, matcher: compileRules(claudeRules), clock });
  const states: string[] = [];
  for (const line of readFileSync(recording('claude/hooks.jsonl'), 'utf8').trim().split('\n')) {
    const { payload } = JSON.parse(line) as { payload: Record<string, unknown> };
    judge.event('hook', String(payload.hook_event_name), payload);
    const { state, reason } = judge.state();
    const words = reason ? `${state}: ${reason}` : state;
    if (words !== states.at(-1)) states.push(words);
  }
  const asks = 'needs_you: asks to run: touch made-by-agent.txt && ls';
  const refused = 'idle: the last turn failed: API Error: Request rejected (429) · Too many requests, slow down';
  expect(states).toEqual([
    'starting',
    'working',
    'idle',
    'working',
    asks,
    'idle',
    'working',
    asks,
    'working',
    'idle',
    ...Array(3).fill(['working', refused]).flat(),
  ]);
});

test.each([
  [{ error: 'rate_limit', last_assistant_message: "You've hit your limit · resets 3pm" }, 'blocked', false],
  [{ error: 'rate_limit', last_assistant_message: 'Claude usage limit reached' }, 'blocked', false],
  [{ error: 'billing_error', last_assistant_message: 'Credit balance is too low' }, 'blocked', false],
  [{ error: 'authentication_failed', last_assistant_message: 'Please run /login' }, 'needs_you', true],
  [{ error: 'server_error', last_assistant_message: 'API Error: 529 Overloaded' }, 'idle', false],
])('a turn that failed with %j is %s', (payload, state, setup) => {
  const judge = createJudge({ ruleset: claudeRules, matcher: compileRules(claudeRules), clock: handClock() });
  judge.event('hook', 'UserPromptSubmit', {});
  judge.event('hook', 'StopFailure', payload);
  expect([judge.state().state, judge.setup()]).toEqual([state, setup]);
  expect(judge.state().reason).toContain(payload.last_assistant_message);
});

test('a blocked bot is not called idle by its empty composer before a quarter of an hour has passed', async () => {
  const { judge, clock } = await replay('claude/start-idle.cast', claudeRules, {
    from: 'blocked',
    restMs: 14 * 60_000,
  });
  expect(judge.state().state).toBe('blocked');
  clock.pass(61_000);
  judge.tick();
  expect(judge.state().state).toBe('idle');
});

test('words of a first-run screen in a conversation that was taken up again are only words', () => {
  const clock = handClock();
  const judge = createJudge({ ruleset: claudeRules, matcher: compileRules(claudeRules), clock });
  const rule = '─'.repeat(80);
  const bottom = [
    'Security notes:',
    'Yes, I trust this folder',
    rule,
    '❯',
    rule,
    '  ⏸ manual mode on · ? for shortcuts',
  ];
  judge.look({ title: '✳ Claude Code', progress: null, bottom, dimRows: bottom.map(() => false) });
  clock.pass(1000);
  judge.tick();
  expect(judge.state().state).toBe('idle');
});

const choices = [' ❯ No, exit', '   Yes, I trust this folder', ' Enter to confirm · Esc to cancel'];
test.each([
  ['its two choices, one below the other', choices, true],
  ['them in the other order, with numbers', [' ❯ 1. Yes, I trust this folder', '   2. No, exit'], true],
  ['one choice alone', [choices[1]], false],
  ['words before a choice', [' ❯ No, exit', ' echo Yes, I trust this folder'], false],
  ['words behind a choice', [' ❯ No, exit', '   Yes, I trust this folder, and yours'], false],
  ['a row between them', [' ❯ No, exit', ' or', '   Yes, I trust this folder'], false],
])('%s: the question whether the folder is trusted, or not', (_, bottom, asks) => {
  const judge = createJudge({ ruleset: claudeRules, matcher: compileRules(claudeRules), clock: handClock() });
  judge.look({ title: '', progress: null, bottom: bottom as string[], dimRows: bottom.map(() => false) });
  expect(judge.sees() === trustRule).toBe(asks);
});

test('once a hook was heard, a command with the words of the trust screen is a permission dialog', () => {
  const judge = createJudge({ ruleset: claudeRules, matcher: compileRules(claudeRules), clock: handClock() });
  const dialog = [' Bash command', '', " printf 'choose", choices[0], choices[1], " '", ' Do you want to proceed?'];
  const bottom = [...dialog, ' ❯ 1. Yes', '   2. No', ' Esc to cancel · Tab to amend'] as string[];
  const view = { title: '', progress: null, bottom, dimRows: bottom.map(() => false) };
  expect([judge.heard(), judge.heard()]).toEqual([true, false]);
  judge.look(view);
  expect(judge.sees()).toBe('claude.dialog.permission');
});

test('every rule has a name of its own', () => {
  const ids = [...claudeRules.screen, ...claudeRules.events].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the choice under the cursor of the trust screen is read from what it draws', async () => {
  const { facts } = await replay('claude/first-start.cast', claudeRules);
  expect(trustChoice(facts.bottom)).toBe('no');
  expect(trustChoice(facts.bottom.map((row) => row.replace('❯ No', '  No').replace('  Yes', '❯ Yes')))).toBe('yes');
  expect(trustChoice(['❯ Yes, I trust this folder is what the other one says'])).toBe(null);
});
