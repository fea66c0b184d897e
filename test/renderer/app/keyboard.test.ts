import { expect, test } from 'vitest';
import { mayTake, type Press, writePress } from '../../../src/renderer/app/shortcuts.ts';

const press = (key: string, more: Partial<Press> = {}): Press => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  shiftKey: false,
  ...more,
});

test.each([
  [press('k', { ctrlKey: true }), 'Ctrl K'],
  [press('k', { metaKey: true }), 'Ctrl K'],
  [press('P', { ctrlKey: true, shiftKey: true }), 'Ctrl Shift P'],
  [press('?', { shiftKey: true }), '?'],
  [press('/'), '/'],
  [press('g'), 'g'],
  [press('Escape'), 'Esc'],
  [press('Enter', { ctrlKey: true }), 'Ctrl Enter'],
])('%j is written %s', (event, written) => {
  expect(writePress(event)).toBe(written);
});

test('letters typed into a field stay there, and a terminal keeps everything but Ctrl Shift', () => {
  const keys = ['g h', '/', '?', 'Esc', 'Ctrl K', 'Ctrl Shift P'];
  expect(keys.filter((one) => mayTake(one, 'none'))).toEqual(keys);
  expect(keys.filter((one) => mayTake(one, 'text'))).toEqual(['Esc', 'Ctrl K', 'Ctrl Shift P']);
  expect(keys.filter((one) => mayTake(one, 'terminal'))).toEqual(['Ctrl Shift P']);
});
