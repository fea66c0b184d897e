import assert from 'node:assert/strict';
import { test } from 'node:test';
import { words } from '../src/index.js';

test('words come in lower case and in order', () => {
  assert.deepEqual(words('The cat. The DOG!'), ['the', 'cat', 'the', 'dog']);
});

test('an apostrophe or hyphen inside a word belongs to it', () => {
  assert.deepEqual(words("It’s a well-known 'quote'"), ["it's", 'a', 'well-known', 'quote']);
});

test('letters of every script and digits make words', () => {
  assert.deepEqual(words('Äpfel 42 слово 言葉'), ['äpfel', '42', 'слово', '言葉']);
});

test('a text without words has none', () => {
  assert.deepEqual(words(' … — !?\n'), []);
});
