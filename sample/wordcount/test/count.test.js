import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countWords, topWords } from '../src/index.js';

test('every word is counted once for each time it occurs', () => {
  assert.deepEqual([...countWords('a b a')], [
    ['a', 2],
    ['b', 1],
  ]);
});

test('words named like object properties are words', () => {
  assert.equal(countWords('constructor __proto__ constructor').get('constructor'), 2);
});

test('the most frequent words come first, equal ones by name', () => {
  assert.deepEqual(topWords(countWords('b a c a b d'), 3), [
    { word: 'a', count: 2 },
    { word: 'b', count: 2 },
    { word: 'c', count: 1 },
  ]);
});

test('a limit above the number of words gives them all', () => {
  assert.equal(topWords(countWords('one two'), 10).length, 2);
});
