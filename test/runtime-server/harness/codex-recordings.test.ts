import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { holdsOurs, lastFailure, readComposer } from '../../../src/runtime-server/harness/codex/composer.ts';
import { codexRules, trustChoice } from '../../../src/runtime-server/harness/codex/rules.ts';
import { createJudge } from '../../../src/runtime-server/harness/judge/judge.ts';
import { compileRules } from '../../../src/runtime-server/harness/judge/rules.ts';
import { handClock, pastedRecordings, recording, replay, usualRecordings } from './replay.ts';

const dialog = 'needs_you: asks to run: touch made-by-agent.txt && ls';

/** Title and screen alone, without status or hook, from the state before the recording. */
test.each([
  ['first-start', 'starting', ['starting', 'needs_you: asks whether the folder is trusted', 'idle']],
  ...usualRecordings(dialog),
  ['dialog-answered', 'needs_you', ['needs_you', 'idle']],
  ...pastedRecordings,
  ['exit', 'idle', ['idle', 'idle: unclear']],
] as const)('the recording %s is judged as a person would', async (name, from, states) => {
  expect((await replay(`codex/${name}.cast`, codexRules, { from })).states).toEqual(states);
});

test('a turn that its provider refused ends idle, with what Codex says of it', async () => {
  const { states, facts } = await replay('codex/error.cast', codexRules, { from: 'working' });
  const words = 'exceeded retry limit, last status: 429 Too Many Requests';
  expect(states.at(-1)).toBe(`idle: the last turn failed: ${words}`);
  expect(lastFailure(facts)).toBe(words);
});

test('a failure of an earlier turn is none of this one', async () => {
  for (const name of ['multi-line-paste', 'big-paste', 'start-idle']) {
    expect(lastFailure((await replay(`codex/${name}.cast`, codexRules)).facts)).toBeNull();
  }
});

test('the trust screen holds messages as setup; a permission dialog does not', async () => {
  const { judge } = await replay('codex/first-start.cast', codexRules, { from: 'starting', until: 4 });
  expect(judge.setup()).toBe(true);
  expect((await replay('codex/permission-dialog.cast', codexRules, { from: 'working' })).judge.setup()).toBe(false);
});

test.each(['start-idle', 'finished-idle', 'interrupt', 'error', 'big-paste', 'typed-while-working', 'slash-command'])(
  'in the recording %s the composer is empty',
  async (name) => {
    expect(readComposer((await replay(`codex/${name}.cast`, codexRules)).facts)).toEqual({ kind: 'empty' });
  },
);

test('with a dialog and after the end the composer is closed', async () => {
  for (const name of ['permission-dialog', 'exit']) {
    expect(readComposer((await replay(`codex/${name}.cast`, codexRules)).facts)).toEqual({ kind: 'closed' });
  }
});

const screen = (rows: readonly string[]) => ({
  title: 'project',
  progress: null,
  bottom: [...rows],
  dimRows: rows.map(() => false),
});
const footer = ['', '  fake-1 default · ~/project', '  ← for agents · ? for shortcuts'];

test('a draft of several lines is read whole, with its empty lines and without the footer', () => {
  const view = screen(['› first', '', '  second', '    third', ...footer]);
  expect(readComposer(view)).toMatchObject({ kind: 'text', text: 'first\n\nsecond\n  third' });
});

test('a text taller than the composer is known by its end; one that differs there is not', () => {
  const ours = Array.from({ length: 70 }, (_, row) => `row ${row}`).join('\n');
  const rows = Array.from({ length: 38 }, (_, at) => (at === 0 ? '› row 32          ↑' : `  row ${at + 32}`));
  expect(holdsOurs(readComposer(screen(rows)), ours)).toBe(true);
  expect(holdsOurs(readComposer(screen(rows)), `${ours} and more`)).toBe(false);
  expect(holdsOurs(readComposer(screen(['› row 69', ...footer])), ours)).toBe(false);
});

test('what is asked in a dialog of several choices is no draft', () => {
  const view = screen(['› 1. Yes, proceed (y)', '  2. No', '', '  Press enter to confirm or esc to cancel']);
  expect(readComposer(view)).toEqual({ kind: 'closed' });
});

test('the status that Codex sends says working, waiting and idle; a waiting without words keeps the words of the hook', () => {
  const judge = createJudge({ ruleset: codexRules, matcher: compileRules(codexRules), clock: handClock() });
  const words = () => Object.values(judge.state()).slice(0, 2);
  const status = (word: string) => judge.event('osc', '21337', { text: `status=${word};indicator=#00d75f;detail=` });
  status('Idle');
  expect(words()).toEqual(['idle', null]);
  status('Working');
  judge.event('hook', 'PermissionRequest', { tool_name: 'Bash', tool_input: { command: 'ls' } });
  status('Waiting');
  expect(words()).toEqual(['needs_you', 'asks to run: ls']);
  status('Working');
  expect(words()).toEqual(['working', null]);
  status('');
  expect(words()).toEqual(['working', null]);
});

test('the recorded hooks begin every turn and name every question; its end is told by the status', () => {
  const judge = createJudge({ ruleset: codexRules, matcher: compileRules(codexRules), clock: handClock() });
  const states: string[] = [];
  for (const line of readFileSync(recording('codex/hooks.jsonl'), 'utf8').trim().split('\n')) {
    const { payload } = JSON.parse(line) as { payload: Record<string, unknown> };
    judge.event('hook', String(payload.hook_event_name), payload);
    const { state, reason } = judge.state();
    const now = reason ? `${state}: ${reason}` : state;
    if (now !== states.at(-1)) states.push(now);
  }
  expect(states).toEqual(['starting', 'working', dialog, 'working', dialog, 'working']);
});

test('every rule has a name of its own', () => {
  const ids = [...codexRules.screen, ...codexRules.events].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the cursor of the recorded trust screen is read, and of rows that are no such screen none is', async () => {
  const { facts } = await replay('codex/first-start.cast', codexRules, { until: 2.4 });
  expect(trustChoice(facts.bottom)).toBe('yes');
  expect(trustChoice(['› 1. Trust and continue', '  2. Back to Agent Command Center', '› 1. Yes'])).toBeNull();
  expect(trustChoice(['  1. Trust and continue', '› 2. Back to Agent Command Center'])).toBe('other');
});
