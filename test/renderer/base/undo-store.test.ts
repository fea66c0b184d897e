import { expect, test } from 'vitest';
import { createUndoStore } from '../../../src/renderer/base/undo-store.ts';

const done = (id: string, back: () => Promise<unknown> = async () => {}) => ({ id, words: `${id} removed`, back });

test('the last thing done is taken back first, then the one before it', async () => {
  const undo = createUndoStore();
  const taken: string[] = [];
  for (const id of ['rule', 'schedule']) undo.add(done(id, async () => taken.push(id)));
  while (undo.last() !== null) await undo.takeBack(undo.last()?.id ?? '');
  expect(taken).toEqual(['schedule', 'rule']);
});

test('the button and the key together take a thing back once', async () => {
  const undo = createUndoStore();
  let times = 0;
  undo.add(done('rule', async () => times++));
  expect(await Promise.all([undo.takeBack('rule'), undo.takeBack('rule')])).toEqual([true, false]);
  expect(times).toBe(1);
});

test('what could not be taken back can be tried again', async () => {
  const undo = createUndoStore();
  const answers = [new Error('Gantry does not answer.'), null];
  undo.add(
    done('rule', async () => {
      const answer = answers.shift();
      if (answer instanceof Error) throw answer;
    }),
  );
  await expect(undo.takeBack('rule')).rejects.toThrow('Gantry does not answer.');
  expect(undo.last()?.id).toBe('rule');
  expect(await undo.takeBack('rule')).toBe(true);
  expect(undo.last()).toBeNull();
});

test('only the last twenty are remembered, and who listens hears of each', () => {
  const undo = createUndoStore();
  let heard = 0;
  undo.subscribe(() => heard++);
  for (let at = 0; at < 25; at++) undo.add(done(String(at)));
  expect([heard, undo.last()?.id]).toEqual([25, '24']);
});
