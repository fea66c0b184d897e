import { expect, test } from 'vitest';
import { type AgentBinding, harnesses } from '../../../../src/contracts/factory/agent.ts';
import type { Conversation } from '../../../../src/contracts/phone/texts.ts';
import {
  isUnanswered,
  leftOutWords,
  whyMute,
  whyNobodyAnswers,
} from '../../../../src/renderer/areas/phone/can-answer.ts';
import type { Floor, PlacedBot } from '../../../../src/renderer/base/data/places.ts';

const runs = (binding: AgentBinding, id = 'b') => ({ id, name: 'clerk', binding }) as PlacedBot;
const terminal = (harness?: AgentBinding['harness']) =>
  runs({ type: 'terminal', ...(harness === undefined ? {} : { harness }) });
const floor = (more: Partial<Omit<Floor, 'place'>> & { away?: boolean } = {}): Floor => {
  const { away = false, ...rest } = more;
  const place = { id: 'c', name: 'tower', scope: null, away } as Floor['place'];
  return { place, bots: [], teams: [], invalid: [], known: true, error: null, ...rest };
};

test('hosted bots and those of an agent program can answer; plain shells, programs of their own and vendors cannot', () => {
  const mute = harnesses.filter((harness) => whyMute(terminal(harness)) !== null);
  expect(mute).toEqual(['shell', 'custom']);
  expect(whyMute(runs({ type: 'hosted', model: 'm' }))).toBeNull();
  expect(whyMute(runs({ type: 'vendor', vendor: 'v' }))).not.toBeNull();
  // What is not known is not refused.
  expect(whyMute(terminal())).toBeNull();
});

test('those that are not offered are named with the reason, and of many the first', () => {
  const names = (at: number) => `bot${at}`;
  expect(leftOutWords([terminal('claude')], names)).toBeNull();
  expect(leftOutWords([terminal('claude'), terminal('shell')], names)).toBe(
    'Not offered, because they cannot answer: bot1 is a plain shell.',
  );
  expect(leftOutWords(Array(5).fill(terminal('shell')), names)).toMatch(
    /bot2 is a plain shell; 2 more cannot either\.$/,
  );
});

test('a number warns when its bot cannot answer or is gone, and says nothing of what is not known now', () => {
  const number = { botId: 'b', runtimeId: 'c' };
  const warns = (bots: PlacedBot[], floors: Floor[], complete = true) =>
    whyNobodyAnswers(number, { bots, floors, complete });
  expect(warns([terminal('claude')], [floor()])).toBeNull();
  expect(warns([terminal('shell')], [floor()])).toMatch(/^clerk cannot answer: it is a plain shell\./);
  expect(warns([], [floor()])).toMatch(/is gone/);
  expect(warns([], [floor({ away: true })])).toBeNull();
  expect(warns([], [floor({ known: false })])).toBeNull();
  expect(warns([], [floor({ error: new Error('away') })])).toBeNull();
  // Its computer is none of the person's any more.
  expect(warns([], [])).toMatch(/is gone/);
  expect(warns([], [], false)).toBeNull();
});

test('a conversation is unanswered once its last text is theirs and some minutes old, unless nobody may answer', () => {
  const at = '2026-01-02T03:00:00.000Z';
  const talk = (last: Partial<Conversation['last']>, optedOut = false) =>
    ({ last: { direction: 'in', status: 'received', at, ...last }, optedOut }) as Conversation;
  const after = (minutes: number) => Date.parse(at) + minutes * 60_000;
  expect(isUnanswered(talk({}), after(6))).toBe(true);
  expect(isUnanswered(talk({ status: 'failed' }), after(6))).toBe(true);
  expect(isUnanswered(talk({}), after(4))).toBe(false);
  expect(isUnanswered(talk({ direction: 'out', status: 'delivered' }), after(6))).toBe(false);
  expect(isUnanswered(talk({ status: 'kept_back' }), after(6))).toBe(false);
  expect(isUnanswered(talk({}, true), after(6))).toBe(false);
});
