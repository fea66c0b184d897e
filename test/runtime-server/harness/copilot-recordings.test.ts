import { expect, test } from 'vitest';
import { readComposer } from '../../../src/runtime-server/harness/copilot/composer.ts';
import { copilotRules, permissionChoice, trustChoice } from '../../../src/runtime-server/harness/copilot/rules.ts';
import { compileRules } from '../../../src/runtime-server/harness/judge/rules.ts';
import { pastedRecordings, replay, usualRecordings } from './replay.ts';

const dialog = 'needs_you: asks: Do you want to run this command?';

/** The screen alone, without hooks, from the state before the recording. */
test.each([
  ...usualRecordings(dialog).filter(([name]) => name !== 'dialog-stray-text'),
  // Its Escape ends the whole turn.
  ['dialog-stray-text', 'working', ['working', dialog, 'working', 'idle']],
  ['dialog-answered', 'needs_you', ['needs_you', dialog, 'working', 'idle']],
  ...pastedRecordings,
  ['error', 'idle', ['idle', 'working', 'idle: the last turn failed: 400 That is too much']],
  ['exit', 'idle', ['idle', 'idle: unclear']],
  // In a terminal that tells its colours.
  ['shaded', 'starting', ['starting', 'idle', 'working', 'idle']],
] as const)('the recording %s is judged as a person would', async (name, from, states) => {
  expect((await replay(`copilot/${name}.cast`, copilotRules, { from })).states).toEqual(states);
});

test('its question about the folder is needs_you, holds messages as setup, and its cursor is read', async () => {
  const { states, judge, facts } = await replay('copilot/first-start.cast', copilotRules);
  expect(states).toEqual(['starting', 'needs_you: asks whether the folder is trusted']);
  expect(judge.setup()).toBe(true);
  expect(trustChoice(facts.bottom)).toBe('other');
  const at = (row: string) => trustChoice([`│ ${row.padEnd(60)} │`]);
  expect(at('❯ 2. Yes, and remember this folder for future sessions')).toBe('yes');
  expect(at('❯ 3. No (Esc)')).toBe('no');
});

test('the cursor of its permission question is read: a lasting yes is no answer of a person’s', async () => {
  const { facts } = await replay('copilot/permission-dialog.cast', copilotRules);
  expect(permissionChoice(facts.bottom)).toBe('yes');
  const at = (row: string) => permissionChoice([`│ ${row.padEnd(60)} │`]);
  expect(at("❯ 2. Yes, and don't ask again for `touch` in this repo")).toBe('other 2');
  expect(at('❯ 3. No, and tell Copilot what to do differently (Esc to stop)')).toBe('no');
  expect(at('❯ 4. No (Esc)')).toBe('no');
});

test.each(['start-idle', 'finished-idle', 'interrupt', 'big-paste', 'slash-command', 'error', 'shaded'])(
  'in the recording %s the composer is empty',
  async (name) => {
    expect(readComposer((await replay(`copilot/${name}.cast`, copilotRules)).facts)).toEqual({ kind: 'empty' });
  },
);

test('with a dialog, a first screen and after the end the composer is closed', async () => {
  for (const name of ['permission-dialog', 'first-start', 'exit'])
    expect(readComposer((await replay(`copilot/${name}.cast`, copilotRules)).facts)).toEqual({ kind: 'closed' });
});

test('an empty composer is empty where the scroll bar shows through its edge', () => {
  const shade = (first: string) => `${first}${'▀'.repeat(117)} ┃`;
  const bottom = [' ● A plain answer.', ' ┃tmp/project', shade('╻'), '┃', shade('╹'), ' ← open sidebar · Interactive'];
  const readIn = (row: string) => readComposer({ bottom: bottom.with(3, row), dimRows: [] } as never);
  expect(readIn('┃')).toEqual({ kind: 'empty' });
  expect(readIn(`┃ half typed${' '.repeat(20)}┃`)).toMatchObject({ kind: 'text', text: 'half typed' });
});

const rule = '─'.repeat(120);
const atRest = (...above: string[]) => {
  const bottom = [...above, '', ' ~/work', rule, '❯', rule, ' ← open sidebar · Interactive'];
  return compileRules(copilotRules).screen({ title: '', progress: null, bottom, dimRows: [] }, true)?.evidence.claim;
};

test('a limit blocks, in the words that it has; a failure of an earlier turn is not told again', () => {
  expect(atRest(" ✗ You've hit your weekly rate limit. Please wait for your limit to reset on May 7 at 3 PM.")).toEqual(
    {
      state: 'blocked',
      reason: "usage limit: You've hit your weekly rate limit. Please wait for your limit to reset on May 7 at 3 PM.",
    },
  );
  expect(atRest(' ✗ 400 That is too much', '', ' ❯ and again', '', ' ● An answer.')).toEqual({ state: 'idle' });
});

test('every rule has a name of its own', () => {
  const ids = [...copilotRules.screen, ...copilotRules.events].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});
