/** Facts of a pane from an emulator, for tests of the harness: what the pane host would report of the same bytes. */
import type { Terminal } from '@xterm/headless';
import type { PaneFacts } from '../../../src/runtime-server/panes/pane-engine.ts';

export function readFacts(
  terminal: Terminal,
  rest: Pick<PaneFacts, 'title' | 'progress' | 'offset' | 'revision'>,
): PaneFacts {
  const buffer = terminal.buffer.active;
  const bottom: string[] = [];
  const dimRows: boolean[] = [];
  for (let y = 0; y < terminal.rows; y += 1) {
    const line = buffer.getLine(buffer.baseY + y);
    const text = line?.translateToString(true).trimEnd() ?? '';
    bottom.push(text);
    let dim = 0;
    let shown = 0;
    for (let x = 0; line && x < text.length; x += 1) {
      const cell = line.getCell(x);
      if (!cell || cell.getChars().trim() === '') continue;
      shown += 1;
      if (cell.isDim()) dim += 1;
    }
    dimRows.push(shown > 0 && dim * 2 > shown);
  }
  while (bottom.at(-1) === '') {
    bottom.pop();
    dimRows.pop();
  }
  return {
    ...rest,
    altScreen: buffer.type === 'alternate',
    bracketedPaste: terminal.modes.bracketedPasteMode,
    focusReporting: terminal.modes.sendFocusMode,
    applicationCursor: terminal.modes.applicationCursorKeysMode,
    bottom: bottom.slice(-40),
    dimRows: dimRows.slice(-40),
    cursor: { x: buffer.cursorX, y: buffer.cursorY, visible: true },
    at: new Date().toISOString(),
  };
}
