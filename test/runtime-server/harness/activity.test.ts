import { expect, test } from 'vitest';
import { createActivity, quiet } from '../../../src/runtime-server/harness/activity.ts';
import { claudeRules } from '../../../src/runtime-server/harness/claude/rules.ts';
import { codexRules } from '../../../src/runtime-server/harness/codex/rules.ts';
import { copilotRules } from '../../../src/runtime-server/harness/copilot/rules.ts';
import { geminiRules } from '../../../src/runtime-server/harness/gemini/rules.ts';
import { opencodeRules } from '../../../src/runtime-server/harness/opencode/rules.ts';
import { qwenRules } from '../../../src/runtime-server/harness/qwen/rules.ts';
import { createTestClock } from '../../support/test-clock.ts';
import { replay } from './replay.ts';

const seconds = async (clock: ReturnType<typeof createTestClock>, n: number) => clock.advance(n * 1000);

test('a spinner, a clock and a counter are no activity', async () => {
  const clock = createTestClock();
  const activity = createActivity(clock);
  const frames = ['✻ Pondering… (12s · ↑ 1.2k tokens)', '✶ Wandering… (1m 3s · ↑ 2.1k tokens)', '⠹ A joke (esc, 15s)'];
  for (let turn = 0; turn < 60; turn += 1) {
    activity.screen([
      '› fix it',
      '',
      frames[turn % 3] ?? '',
      `• Working (${turn}s • esc to interrupt)`,
      `█▒ ${turn} %`,
    ]);
    await seconds(clock, 2);
  }
  expect(activity.now()).toEqual({ at: null, by: 'output', sameCall: null, sameScreen: null });
});

test('new words on the screen are activity, of the moment in which they came', async () => {
  const clock = createTestClock();
  const activity = createActivity(clock);
  activity.screen(['one']);
  await seconds(clock, 10);
  activity.screen(['one', 'two']);
  expect(activity.now().at).toBe(10_000);
  await clock.advance(300);
  // Too soon for another look, which comes with the next question.
  activity.screen(['one', 'two', 'three']);
  await seconds(clock, 60);
  expect(activity.now().at).toBe(10_300);
});

test('a few screens in turn are no activity, and are counted', async () => {
  const clock = createTestClock();
  const activity = createActivity(clock);
  for (let turn = 0; turn < 30; turn += 1) {
    activity.screen([`error: cannot reach ${'abc'[turn % 3]}`]);
    await seconds(clock, 2);
  }
  expect(activity.now()).toMatchObject({ at: 4000, sameScreen: { what: 'The same screen', times: 10 } });
  activity.screen(['connected']);
  expect(activity.now()).toMatchObject({ at: 60_000, sameScreen: null });
});

test('a call is activity each time; calls with nothing new in between are counted', () => {
  const clock = createTestClock();
  const activity = createActivity(clock);
  for (let turn = 0; turn < 7; turn += 1) activity.called('shell.exec', { command: 'npm', args: ['test'] });
  expect(activity.now()).toEqual({
    at: 0,
    by: 'tool',
    sameCall: { what: 'The same call of shell.exec', times: 7 },
    sameScreen: null,
  });
  activity.called('file.write', { path: 'a.ts', content: '1' });
  expect(activity.now().sameCall).toBeNull();
  activity.called('shell.exec', { command: 'npm', args: ['test'] });
  expect(activity.now().sameCall).toMatchObject({ times: 2 });
  activity.forget();
  expect(activity.now().sameCall).toBeNull();
});

test.each([
  ['claude', claudeRules],
  ['codex', codexRules],
  ['copilot', copilotRules],
  ['gemini', geminiRules],
  ['opencode', opencodeRules],
  ['qwen', qwenRules],
] as const)('the screens of %s at work differ only where something is said', async (harness, rules) => {
  const shown = new Set<string>();
  let drawn = 0;
  await replay(`${harness}/submit-working.cast`, rules, {
    onFacts({ bottom }) {
      drawn += 1;
      shown.add(quiet(bottom));
    },
  });
  expect(drawn).toBeGreaterThan(5);
  for (const text of shown) expect(text).not.toMatch(/[⠀-⣿✻✶✳✢◐◓]|\d+ ?s\b/u);
});
