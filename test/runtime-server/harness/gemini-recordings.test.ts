import { expect, test } from 'vitest';
import { holdsOurs, readComposer } from '../../../src/runtime-server/harness/gemini/composer.ts';
import { geminiRules, trustChoice } from '../../../src/runtime-server/harness/gemini/rules.ts';
import { createJudge } from '../../../src/runtime-server/harness/judge/judge.ts';
import { compileRules } from '../../../src/runtime-server/harness/judge/rules.ts';
import { handClock, pastedRecordings, replay, usualRecordings } from './replay.ts';

const dialog = 'needs_you: asks: Shell touch made-by-agent.txt && ls';

test.each([
  ...usualRecordings(dialog),
  ['dialog-answered', 'needs_you', ['needs_you', dialog, 'working', 'idle']],
  ...pastedRecordings,
  // It ends with the Escape that gave up waiting for the provider, before the title has followed.
  ['error', 'working', ['working']],
  ['exit', 'idle', ['idle', 'idle: unclear']],
] as const)('the recording %s is judged as a person would', async (name, from, states) => {
  expect((await replay(`gemini/${name}.cast`, geminiRules, { from })).states).toEqual(states);
});

test('its first screens are each needs_you with their words, although the title reads Ready, and hold messages as setup', async () => {
  const { states, judge } = await replay('gemini/first-start.cast', geminiRules);
  expect(states).toEqual([
    'starting',
    'needs_you: asks whether the folder is trusted',
    'starting: restarts after its first questions',
    'needs_you: asks to sign in',
    'needs_you: asks for an API key',
  ]);
  expect(judge.setup()).toBe(true);
});

test.each(['start-idle', 'finished-idle', 'interrupt', 'error', 'big-paste', 'typed-while-working', 'slash-command'])(
  'in the recording %s the composer is empty',
  async (name) => {
    expect(readComposer((await replay(`gemini/${name}.cast`, geminiRules)).facts)).toEqual({ kind: 'empty' });
  },
);

test('with a dialog, a first screen and after the end the composer is closed: what was sent looks like one', async () => {
  for (const name of ['permission-dialog', 'first-start', 'exit']) {
    expect(readComposer((await replay(`gemini/${name}.cast`, geminiRules)).facts)).toEqual({ kind: 'closed' });
  }
});

const bar = { top: '▄'.repeat(80), end: '▀'.repeat(80), rule: '─'.repeat(80) };
const screen = (title: string, rows: readonly string[]) => ({
  title,
  progress: null,
  bottom: [...rows],
  dimRows: rows.map(() => false),
});
const composer = (...rows: readonly string[]) => [bar.rule, ' Shift+Tab to accept edits', bar.top, ...rows, bar.end];
const footer = [' workspace (/directory)            /model', ' ~/project                         gemini-2.5-flash'];

test('a text in the composer is ours as it stands or as its marker; what was sent before is not', () => {
  const shown = (...rows: readonly string[]) => readComposer(screen('◇  Ready', [...composer(...rows), ...footer]));
  expect(holdsOurs(shown(' > From owner (message d_1):', '   say hello'), 'From owner (message d_1):\nsay hello')).toBe(
    true,
  );
  expect(holdsOurs(shown(' > [Pasted Text: 12 lines]'), 'anything')).toBe(true);
  expect(shown(' >   Type your message or @path/to/file')).toEqual({ kind: 'empty' });
  const sent = [bar.top, ' > say hello', bar.end, '✦ An answer.'];
  expect(readComposer(screen('◇  Ready', [...sent]))).toEqual({ kind: 'closed' });
});

test('in its shell mode, where a text would run, the composer is closed', () => {
  expect(readComposer(screen('◇  Ready', [...composer(' ! '), ...footer]))).toEqual({ kind: 'closed' });
});

/** Judged after `ms` of the same screen. */
function judged(from: 'starting' | 'working', view: ReturnType<typeof screen>, ms = 5000) {
  const clock = handClock();
  const state = { state: from, reason: null, since: clock.now() };
  const judge = createJudge({ ruleset: geminiRules, matcher: compileRules(geminiRules), clock, from: state });
  judge.look(view);
  clock.pass(ms);
  judge.tick();
  return Object.values(judge.state()).slice(0, 2);
}

test('where a person has switched the title off, the screen decides', () => {
  const idle = [...composer(' >   Type your message or @path/to/file'), ...footer];
  expect(judged('starting', screen('', idle))).toEqual(['idle', null]);
  expect(judged('starting', screen('', [' ⠋ Thinking... (esc to cancel, 2s)', ...idle]))).toEqual(['working', null]);
  const asks = [
    '│ ? WriteFile  Writing to a.txt   │',
    '│ Apply this change?   │',
    '│ ● 1. Allow once   │',
    `╰${bar.rule}╯`,
  ];
  expect(judged('working', screen('', asks))).toEqual(['needs_you', 'asks: WriteFile Writing to a.txt']);
});

test('a ready title must hold for more than 400 ms, since the screen is repainted as a whole', () => {
  const view = screen('◇  Ready (project)', [...composer(' > '), ...footer]);
  expect(judged('working', view, 450)[0]).toBe('working');
  expect(judged('working', view, 700)[0]).toBe('idle');
});

test('a usage limit blocks, with the time at which it is over', () => {
  const rows = [
    '╭──────────────────────────────╮',
    '│ Usage limit reached for gemini-2.5-pro.   │',
    '│ Access resets at 10:57 PM GMT-3.          │',
    '│ ● 1. Keep trying                          │',
    '│   2. Stop                                 │',
    '╰──────────────────────────────╯',
  ];
  const until = 'usage limit: Usage limit reached for gemini-2.5-pro. Access resets at 10:57 PM GMT-3.';
  expect(judged('working', screen('✋  Action Required (project)', rows))).toEqual(['blocked', until]);
});

test('a turn that failed is idle with what Gemini says of it; one before it is not told again', () => {
  const shortcuts = `${' '.repeat(60)}? for shortcuts`;
  const idle = [shortcuts, ...composer(' > '), ...footer];
  const view = (rows: readonly string[]) => screen('◇  Ready (project)', [...rows, ...idle]);
  expect(judged('working', view(['✕ [API Error: API key not valid]']))).toEqual([
    'idle',
    'the last turn failed: [API Error: API key not valid]',
  ]);
  expect(judged('working', view(['✕ [API Error: API key not valid]', '✦ An answer.']))).toEqual(['idle', null]);
});

test('every rule has a name of its own', () => {
  const ids = geminiRules.screen.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the cursor of the recorded trust screen is read; a command that quotes the screen moves nothing', async () => {
  const { facts } = await replay('gemini/first-start.cast', geminiRules, { until: 4 });
  expect(trustChoice(facts.bottom)).toBe('yes');
  const at = (rows: readonly string[]) => trustChoice(rows.map((row) => ` │ ${row.padEnd(60)} │`));
  expect(at(['  1. Trust folder (work)', '  2. Trust parent folder (user)', "● 3. Don't trust"])).toBe('other');
  expect(at(['? Shell echo', '● 1. Trust folder (work)', '● 1. Allow once', '  2. No'])).toBeNull();
});
