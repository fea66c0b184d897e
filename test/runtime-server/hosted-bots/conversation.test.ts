/** What a model is told is always a conversation that every wire takes: each call has exactly one result, right behind it. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { messagesOf } from '../../../src/runtime-server/hosted-bots/conversation.ts';
import type { Line, StoredLine } from '../../../src/runtime-server/hosted-bots/store.ts';

const store = (turns: Line[][]): StoredLine[] => {
  let seq = 0;
  return turns.flatMap((lines, turn) =>
    lines.map((line) => {
      seq += 1;
      return { seq, at: seq, turnId: `run_${turn}`, line };
    }),
  );
};

/** A turn that was cut off after any of its lines. */
const turn = fc
  .record({
    rounds: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 4 }),
    keep: fc.integer({ min: 1, max: 30 }),
    mark: fc.integer(),
  })
  .map(({ rounds, keep, mark }): Line[] => {
    const lines: Line[] = [{ kind: 'user', text: 'Go' }];
    for (const [round, count] of rounds.entries()) {
      const calls = Array.from({ length: count }, (_, index) => ({
        id: `${mark}_${round}_${index}`,
        name: 'file.read',
        input: {},
      }));
      lines.push({ kind: 'assistant', message: { role: 'assistant', text: 'x', calls } });
      for (const { id, name } of calls)
        lines.push({ kind: 'result', result: { callId: id, name, text: 'r', isError: false } });
    }
    return lines.slice(0, keep);
  });

test('however turns were cut off, every call is followed by its results, once each', () => {
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 5 }), (turns) => {
      const messages = messagesOf(store(turns));
      for (const [index, message] of messages.entries()) {
        if (message.role === 'tools') expect(messages[index - 1]?.role).toBe('assistant');
        if (message.role !== 'assistant' || message.calls.length === 0) continue;
        const next = messages[index + 1];
        const answered = next?.role === 'tools' ? next.results.map((result) => result.callId) : [];
        expect(answered.toSorted()).toEqual(message.calls.map((call) => call.id).toSorted());
      }
    }),
    { numRuns: 500 },
  );
});

test('of a long conversation the oldest turns are left out whole, the newest is told however long', () => {
  const long = (words: string): Line[] => [
    { kind: 'user', text: words },
    { kind: 'assistant', message: { role: 'assistant', text: 'y'.repeat(150_000), calls: [] } },
  ];
  const messages = messagesOf(store([long('one'), long('two'), long('three')]));
  const said = messages.flatMap((message) => (message.role === 'user' ? [message.text] : []));
  expect(said).toEqual([expect.stringContaining('left out'), 'two', 'three']);
  const huge = messagesOf(store([long('old'), [{ kind: 'user', text: 'z'.repeat(900_000) }]]));
  expect(huge.at(-1)).toMatchObject({ text: expect.stringMatching(/^z+$/) });
  expect(huge).toHaveLength(2);
});
