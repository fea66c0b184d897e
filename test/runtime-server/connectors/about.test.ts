import { expect, test } from 'vitest';
import { aboutOf } from '../../../src/runtime-server/connectors/about.ts';

test.each<[unknown, string | null]>([
  [{ name: 'n', title: 'The roof leaks' }, 'The roof leaks'],
  [{ message: 'last', text: 'before it' }, 'before it'],
  [{ title: '', subject: 7, summary: ' \u200b\n', name: 'the first with words' }, 'the first with words'],
  [{ action: 'opened', issue: { title: 'Inside' }, sender: { name: 'ada' } }, 'Inside'],
  [{ text: 'Outside', issue: { title: 'Inside' } }, 'Outside'],
  [{ labels: ['a'], nothing: null, issue: { id: 3 }, sender: { name: 'ada' } }, null],
  [{ a: { b: { title: 'too deep' } } }, null],
  [{ number: 12, title: 'Build fails on arm' }, '#12 Build fails on arm'],
  [{ number: '12', title: 'Build fails' }, '#12 Build fails'],
  [{ issue: { key: 'ENG-4', summary: 'Slow' } }, 'ENG-4 Slow'],
  [{ number: 5, pull: { title: 'Mend it' } }, '#5 Mend it'],
  [{ number: 5, pull: { number: 6, title: 'Mend it' } }, '#6 Mend it'],
  [{ number: 1.5, key: 'sk and what no one may see', title: 'No number' }, 'No number'],
  [{ number: 12 }, null],
  [{}, null],
  [[{ title: 'in a list' }], null],
  ['a text alone', null],
  [null, null],
  [undefined, null],
])('%j is about %j', (data, about) => {
  expect(aboutOf(data)).toBe(about);
});

test('it is one line without controls, marks of direction or half characters', () => {
  expect(aboutOf({ title: '\u202e a\u0000b\u001b[31m \r\n\t c\u2066\u2028d\u0085e\ud800 ' })).toBe('ab[31m c de\ufffd');
});

test('it has at most 120 characters, whole ones, with the number', () => {
  expect(aboutOf({ title: 'x'.repeat(120) })).toBe('x'.repeat(120));
  const long = aboutOf({ number: 3, title: '🙂'.repeat(500) }) ?? '';
  expect([...long].length).toBe(120);
  expect(long).toBe(`#3 ${'🙂'.repeat(116)}…`);
});
