import { expect, test } from 'vitest';
import { createDrafts } from '../../../../src/renderer/base/data/drafts.ts';

function storage(first: Record<string, string> = {}) {
  const rows = new Map(Object.entries(first));
  return {
    getItem: (key: string) => rows.get(key) ?? null,
    setItem: (key: string, value: string) => void rows.set(key, value),
  };
}

test('what was typed is there again after a reload, each place with its own, until it is sent', () => {
  const tab = storage();
  const typed = createDrafts(tab);
  typed.keep('floor', 'half a sen');
  typed.keep('home', 'other');
  expect(createDrafts(tab).of('floor')).toBe('half a sen');
  typed.keep('floor', '');
  expect([createDrafts(tab).of('floor'), createDrafts(tab).of('home')]).toEqual(['', 'other']);
});

test('a damaged memory is an empty one, and it does not grow without end', () => {
  expect(createDrafts(storage({ 'gantry.typed': '[[1,2],"x",["home","kept"]]' })).of('home')).toBe('kept');
  expect(createDrafts(storage({ 'gantry.typed': '{' })).of('home')).toBe('');
  const typed = createDrafts(storage());
  for (let place = 0; place < 60; place += 1) typed.keep(`place ${place}`, 'text');
  expect([typed.of('place 0'), typed.of('place 59')]).toEqual(['', 'text']);
});
