import { expect, test } from 'vitest';
import { createPressReader, mayTake, type Press, writePress } from '../../../src/renderer/app/shortcuts.ts';
import type { Action } from '../../../src/renderer/base/actions.ts';

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
  const keys = ['g h', '/', '?', 'Esc', 'F1', 'Ctrl K', 'Ctrl Z', 'Ctrl Shift P'];
  expect(keys.filter((one) => mayTake(one, 'none'))).toEqual(keys);
  expect(keys.filter((one) => mayTake(one, 'text'))).toEqual(['Esc', 'F1', 'Ctrl K', 'Ctrl Shift P']);
  expect(keys.filter((one) => mayTake(one, 'choice'))).toEqual(['Esc', 'F1', 'Ctrl K', 'Ctrl Z', 'Ctrl Shift P']);
  expect(keys.filter((one) => mayTake(one, 'terminal'))).toEqual(['Ctrl Shift P']);
});

test('a first letter waits for its second while what can be done changes, and no longer than a person does', () => {
  const goHome: Action = { id: 'go', title: 'Home', group: 'Go to', keys: 'g h', run: () => {} };
  const start: Action = { id: 'start', title: 'Start demo', group: 'Teams', run: () => {} };
  const read = createPressReader();
  const at = (ms: number) => ({ field: 'none', inDialog: false, at: ms }) as const;
  expect(read(press('g'), at(0), [goHome])).toBeNull();
  expect(read(press('h'), at(100), [start, goHome])).toBe(goHome);
  expect(read(press('h'), at(200), [goHome])).toBeNull();
  expect(read(press('g'), at(300), [goHome])).toBeNull();
  expect(read(press('h'), at(1600), [goHome])).toBeNull();
});

test('Ctrl Z in a dialog or a field takes back nothing that was done before', () => {
  const undo: Action = { id: 'undo', title: 'Undo', group: 'This page', keys: 'Ctrl Z', run: () => {} };
  const read = createPressReader();
  const pressed = (field: 'none' | 'text', inDialog: boolean) =>
    read(press('z', { ctrlKey: true }), { field, inDialog, at: 0 }, [undo]);
  expect([pressed('none', false), pressed('text', false), pressed('none', true)]).toEqual([undo, null, null]);
});
