import { expect, test } from 'vitest';
import { compileRules } from '../../../src/runtime-server/harness/judge/rules.ts';
import { qwenRules } from '../../../src/runtime-server/harness/qwen/rules.ts';
import { pastedRecordings, replay, usualRecordings } from './replay.ts';

const dialog = "needs_you: asks: Allow execution of: 'touch'?";

/** Title and screen alone, without its file of events, from the state before the recording. */
test.each([
  ['first-start', 'starting', ['starting', 'idle']],
  ...usualRecordings(dialog),
  ['dialog-answered', 'needs_you', ['needs_you', 'idle']],
  ...pastedRecordings,
  ['exit', 'idle', ['idle', 'idle: unclear']],
] as const)('the recording %s is judged as a person would', async (name, from, states) => {
  expect((await replay(`qwen/${name}.cast`, qwenRules, { from })).states).toEqual(states);
});

test('a refusing provider is working with the reason in words', async () => {
  const { states } = await replay('qwen/error.cast', qwenRules, { from: 'idle' });
  expect(states.join(' → ')).toMatch(/working/);
});

/** Drawn by 0.24.4 in a home without settings and keys. */
const setUp = (title: string, ...rows: string[]) => [
  '  ┌────────────────────────────────────────────────────────────────────────────┐',
  '  │                                                                            │',
  ...[title, '', '› Alibaba ModelStudio', '  Official recommended setup', '', ...rows].map(
    (row) => `  │ ${row.padEnd(75)}│`,
  ),
  '  └────────────────────────────────────────────────────────────────────────────┘',
];

test.each([
  ['its list of providers', setUp('Connect a Provider', '─'.repeat(70), '', 'Terms of Services and Privacy Notice:')],
  ['the ways in', setUp('Alibaba ModelStudio · Access Method', 'Enter to select, ↑↓ to navigate, Esc to go back')],
  ['a step', setUp('Alibaba ModelStudio · Step 1/3 · Region', 'Enter to select, ↑↓ to navigate, Esc to go back')],
])('without a provider it asks to sign in, on %s', (_, bottom) => {
  const found = compileRules(qwenRules).screen({ title: 'Qwen', progress: null, bottom, dimRows: [] }, false);
  expect(found?.evidence).toMatchObject({
    claim: { state: 'needs_you', setup: true },
    from: ['starting', 'needs_you'],
  });
});

test('every rule has a name of its own', () => {
  const ids = [...qwenRules.screen, ...qwenRules.events].map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
});
