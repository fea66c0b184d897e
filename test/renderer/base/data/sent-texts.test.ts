import { expect, test } from 'vitest';
import { createSentTexts } from '../../../../src/renderer/base/data/sent-texts.ts';

function createStorage(first: Record<string, string> = {}) {
  const values = new Map(Object.entries(first));
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
  };
}

test('the words of a message outlive a reload of the page', () => {
  const storage = createStorage();
  createSentTexts(storage).remember('delivery_1', 'run\n  the tests');
  expect(createSentTexts(storage).of('delivery_1')).toBe('run the tests');
});

test('only the newest 200 are kept, each as long as a line', () => {
  const storage = createStorage();
  const texts = createSentTexts(storage);
  for (let index = 0; index < 201; index += 1) texts.remember(`delivery_${index}`, 'x'.repeat(500));
  const again = createSentTexts(storage);
  expect(again.of('delivery_0')).toBeNull();
  expect(again.of('delivery_1')).toHaveLength(161);
});

test('a damaged storage is an empty one', () => {
  const texts = createSentTexts(createStorage({ 'gantry.sent': '{"not":"a list"}' }));
  expect(texts.of('delivery_1')).toBeNull();
});
