import { expect, test } from 'vitest';
import { createJudge } from '../../../src/runtime-server/harness/judge/judge.ts';
import { compileRules, type Ruleset } from '../../../src/runtime-server/harness/judge/rules.ts';
import { handClock } from './replay.ts';

const rules: Ruleset = {
  harness: 'test',
  version: 'test/1',
  covers: null,
  authority: 'hook',
  interrupt: { keys: ['Escape'] },
  unclearAfterMs: 1000,
  screen: [
    {
      id: 'busy',
      source: 'screen',
      priority: 2,
      when: [{ region: 'last', contains: 'busy' }],
      claim: { state: 'working' },
      from: ['starting', 'idle'],
      holdMs: 100,
    },
    {
      id: 'ready',
      source: 'screen',
      priority: 1,
      when: [{ region: 'last', regex: '^(?<who>\\w+) ready$' }],
      claim: { state: 'idle' },
      from: ['starting', 'working'],
      holdMs: 400,
      holdFrom: { starting: 50 },
    },
    {
      id: 'ask',
      source: 'screen',
      priority: 3,
      when: [{ region: 'bottom', regex: '^May I (?<what>.+)\\?$', not: 'never' }],
      claim: { state: 'needs_you', reason: 'asks to {what}', setup: true },
      from: ['starting', 'working', 'idle'],
      holdMs: 0,
    },
  ],
  events: [
    { id: 'begin', source: 'hook', event: 'Begin', claim: { state: 'working' } },
    {
      id: 'limit',
      source: 'hook',
      event: 'End',
      where: { 'error.kind': '^limit' },
      claim: { state: 'blocked', reason: '{error.text}' },
    },
    { id: 'end', source: 'hook', event: 'End', claim: { state: 'idle', reason: 'by hook' } },
    { id: 'asks', source: 'hook', event: 'Ask', claim: { state: 'needs_you', reason: 'asks by hook' } },
    { id: 'known', source: 'hook', event: 'Known', claim: null },
  ],
};

function setUp() {
  const clock = handClock();
  const judge = createJudge({ ruleset: rules, matcher: compileRules(rules), clock });
  const show = (...bottom: string[]) =>
    judge.look({ title: '', progress: null, bottom, dimRows: bottom.map(() => false) });
  const pass = (ms: number) => {
    clock.pass(ms);
    return judge.tick();
  };
  return { judge, show, pass, clock };
}

test('a screen decides only after it has held without a break: a repaint in between begins anew', () => {
  const { judge, show, pass } = setUp();
  judge.event('hook', 'Begin', {});
  show('it ready');
  pass(399);
  show('', 'half a frame');
  pass(10);
  show('it ready');
  pass(399);
  expect(judge.state().state).toBe('working');
  expect(judge.next()).toBe(1);
  pass(1);
  expect(judge.state().state).toBe('idle');
  expect(judge.next()).toBe(null);
});

test('a hold time may differ by the state that it would end', () => {
  const { judge, show, pass } = setUp();
  show('it ready');
  pass(50);
  expect(judge.state().state).toBe('idle');
});

test('after a word of the authority the screen must hold anew, because it still shows what was before', () => {
  const { judge, show, pass } = setUp();
  show('it ready');
  pass(5000);
  judge.event('hook', 'Begin', {});
  pass(399);
  expect(judge.state().state).toBe('working');
  pass(1);
  expect(judge.state().state).toBe('idle');
});

test('a screen cannot end a state that its rule does not name, nor reword the reason of the authority', () => {
  const { judge, show, pass } = setUp();
  judge.event('hook', 'End', { error: { kind: 'limit_reached', text: 'until 3pm' } });
  show('it ready');
  pass(10_000);
  expect(judge.state()).toMatchObject({ state: 'blocked', reason: 'until 3pm' });
  judge.event('hook', 'Ask', {});
  show('May I write?');
  pass(10);
  expect(judge.state()).toMatchObject({ state: 'needs_you', reason: 'asks by hook' });
  judge.event('hook', 'End', {});
  show('it ready');
  pass(1000);
  expect(judge.state()).toMatchObject({ state: 'idle', reason: 'by hook' });
});

test('a dialog found on the screen has its words in the reason and holds messages as setup', () => {
  const { judge, show } = setUp();
  show('May I write here?', '> yes');
  expect(judge.state()).toMatchObject({ state: 'needs_you', reason: 'asks to write here' });
  expect(judge.setup()).toBe(true);
});

test('a screen that no rule knows keeps the state and says unclear, until a known one comes back', () => {
  const { judge, show, pass } = setUp();
  judge.event('hook', 'End', {});
  show('what is this');
  pass(999);
  expect(judge.unclear()).toBe(false);
  pass(1);
  expect(judge.state()).toMatchObject({ state: 'idle', reason: 'unclear' });
  expect(judge.unclear()).toBe(true);
  show('it ready');
  expect(judge.state()).toMatchObject({ state: 'idle', reason: 'by hook' });
});

test('a program that still starts is starting, not unclear', () => {
  const { judge, show, pass } = setUp();
  show('loading');
  pass(10_000);
  expect(judge.state()).toMatchObject({ state: 'starting', reason: null });
});

test('unknown and meaningless events change nothing', () => {
  const { judge } = setUp();
  expect([
    judge.event('hook', 'Begin', {}),
    judge.event('hook', 'Known', {}),
    judge.event('hook', 'Other', {}),
  ]).toEqual([true, false, false]);
  expect(judge.state().state).toBe('working');
});

test('since moves with the state, not with its reason', () => {
  const { judge, clock } = setUp();
  judge.event('hook', 'End', { error: { kind: 'limit', text: 'a' } });
  const { since } = judge.state();
  clock.pass(500);
  judge.event('hook', 'End', { error: { kind: 'limit', text: 'b' } });
  expect(judge.state()).toEqual({ state: 'blocked', reason: 'b', since });
  judge.event('hook', 'Begin', {});
  expect(judge.state().since).toBe(since + 500);
});

test('explain keeps the last fifty evidences with rule, claim, what was seen and whether it decided', () => {
  const { judge, show, pass } = setUp();
  judge.event('hook', 'Begin', {});
  judge.event('hook', 'Begin', {});
  show('it ready');
  pass(400);
  expect(
    judge.steps().map(({ source, rule, claim, evidence, decided }) => [source, rule, claim, evidence, decided]),
  ).toEqual([
    ['hook', 'begin', 'working', 'Begin', true],
    ['hook', 'begin', 'working', 'Begin', false],
    ['screen', 'ready', 'idle', 'it ready', true],
  ]);
  for (let i = 0; i < 100; i += 1) judge.event('hook', 'Known', {});
  expect(judge.steps()).toHaveLength(50);
});

test('the end of the program is the last word: what is parsed of its output afterwards changes nothing', () => {
  const { judge, show, pass } = setUp();
  judge.take({ source: 'process', rule: 'exit', claim: { state: 'offline' }, seen: 'it ended' });
  judge.event('hook', 'Begin', {});
  show('busy');
  pass(10_000);
  show('what is this');
  pass(10_000);
  expect(judge.state()).toMatchObject({ state: 'offline', reason: null });
  expect(judge.next()).toBe(null);
});

test('a condition that only forbids holds where its region is missing; one that asks for something does not', () => {
  const matcher = (when: Ruleset['screen'][number]['when']) =>
    compileRules({ ...rules, screen: [{ ...rules.screen[0]!, when }] }).screen(
      {
        title: '',
        progress: null,
        bottom: ['x'],
        dimRows: [false],
      },
      false,
    );
  expect(matcher([{ region: 'box', not: '^y' }])).not.toBe(null);
  expect(matcher([{ region: 'box', regex: '', not: '^y' }])).toBe(null);
  expect(matcher([{ region: 'progress', contains: '' }])).toBe(null);
});
