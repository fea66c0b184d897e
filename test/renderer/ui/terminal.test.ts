import { Terminal } from '@xterm/headless';
import { expect, test } from 'vitest';
import { namedKeys } from '../../../src/contracts/factory/agent.ts';
import { drawScreen } from '../../../src/renderer/ui/terminal/draw.ts';
import { type KeyPress, keyName } from '../../../src/renderer/ui/terminal/keys.ts';

const press = (key: string, more: Partial<KeyPress> = {}): KeyPress => ({
  key,
  ctrlKey: false,
  altKey: false,
  shiftKey: false,
  metaKey: false,
  isComposing: false,
  altGraph: false,
  ...more,
});

test.each([
  [press('Enter'), 'Enter'],
  [press('ArrowUp'), 'Up'],
  [press('Tab', { shiftKey: true }), 'S-Tab'],
  [press('c', { ctrlKey: true }), 'C-c'],
  [press('C', { ctrlKey: true, shiftKey: true }), 'C-c'],
  [press('b', { altKey: true }), 'M-b'],
  [press('ArrowLeft', { ctrlKey: true, altKey: true }), 'C-M-Left'],
  [press(' ', { ctrlKey: true }), 'C-Space'],
  [press('F12'), 'F12'],
])('%j is the key %s', (event, name) => {
  expect(keyName(event)).toBe(name);
});

test.each([
  press('a'),
  press('A', { shiftKey: true }),
  press(' '),
  press('ö'),
  press('Dead'),
  press('Shift', { shiftKey: true }),
  press('Control', { ctrlKey: true }),
  press('v', { metaKey: true }),
  press('@', { ctrlKey: true, altKey: true, altGraph: true }),
  press('Enter', { isComposing: true }),
  press('F13'),
])('%j is text or none of the terminal’s business', (event) => {
  expect(keyName(event)).toBeNull();
});

test('every key that the API names can be pressed', () => {
  const arrows: Record<string, string> = { Up: 'ArrowUp', Down: 'ArrowDown', Left: 'ArrowLeft', Right: 'ArrowRight' };
  for (const name of namedKeys) {
    if (name === 'Space') continue; // plain text without a modifier
    expect(keyName(press(arrows[name] ?? name))).toBe(name);
  }
});

function write(terminal: Terminal, text: string): Promise<void> {
  return new Promise((resolve) => terminal.write(text, resolve));
}
function rows(terminal: Terminal): string[] {
  return Array.from(
    { length: terminal.rows },
    (_, index) => terminal.buffer.active.getLine(index)?.translateToString(true) ?? '',
  );
}

test('a screen drawn over another leaves nothing of it behind', async () => {
  const terminal = new Terminal({ cols: 20, rows: 4, scrollback: 0, allowProposedApi: true });
  const cursor = { x: 0, y: 0, visible: false };
  const wild =
    '\u001b[2;3r\u001b[?6h\u001b[?1049h\u001b[31;7mred red red red red\r\nmore\r\nmore\r\nmore\u001b[?2004h\u001b[?1h\u001b[?7l';
  await write(terminal, drawScreen({ ansi: wild, cursor }));
  await write(terminal, drawScreen({ ansi: 'one\r\ntwo', cursor: { x: 3, y: 1, visible: true } }));
  expect(rows(terminal)).toEqual(['one', 'two', '', '']);
  expect(terminal.buffer.active.type).toBe('normal');
  expect([terminal.buffer.active.cursorX, terminal.buffer.active.cursorY]).toEqual([3, 1]);
  expect(terminal.modes).toMatchObject({
    bracketedPasteMode: false,
    applicationCursorKeysMode: false,
    wraparoundMode: true,
    originMode: false,
  });
  expect(terminal.buffer.active.getLine(0)?.getCell(0)?.isFgDefault()).toBe(true);
});

test('bracketed paste holds as long as the screen asks for it', async () => {
  const terminal = new Terminal({ cols: 20, rows: 4, scrollback: 0, allowProposedApi: true });
  await write(terminal, drawScreen({ ansi: '$ \u001b[?2004h', cursor: { x: 2, y: 0, visible: true } }));
  expect(terminal.modes.bracketedPasteMode).toBe(true);
});
