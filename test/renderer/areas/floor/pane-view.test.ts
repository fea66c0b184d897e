/** What a pane printed above its screen, in its live terminal. */
import { Terminal } from '@xterm/headless';
import type { Terminal as BrowserTerminal } from '@xterm/xterm';
import { expect, test } from 'vitest';
import type { Scrollback } from '../../../../src/contracts/factory/agent.ts';
import type { Said } from '../../../../src/renderer/areas/floor/marks.ts';
import { createPaneView } from '../../../../src/renderer/areas/floor/pane-view.ts';
import type { LineMark } from '../../../../src/renderer/ui/terminal/terminal-marks.ts';

const size = { cols: 20, rows: 3 };

/** A pane that prints lines: the last three are on the screen. */
function paneOf(count: number, commands?: Scrollback['commands'], said: readonly Said[] = []) {
  const lines = Array.from({ length: count }, (_, index) => `line ${index}`);
  const reads: number[] = [];
  const terminal = new Terminal({ ...size, scrollback: 5000, allowProposedApi: true });
  const errors: unknown[] = [];
  let drawn: readonly LineMark[] = [];
  let broken = false;
  const view = createPaneView({
    // The parts that it uses are those of a terminal without a page.
    terminal: terminal as unknown as BrowserTerminal,
    pane: {
      scrollback: async ({ lines: wanted }) => {
        if (broken) throw new Error('no answer');
        reads.push(wanted);
        const total = lines.length - size.rows;
        const first = Math.max(0, total - wanted);
        return { ansi: lines.slice(first, total).join('\r\n'), first, lines: total - first, total, commands };
      },
    },
    said: () => said,
    drawMarks(marks) {
      drawn = marks;
    },
    onError: (error) => void errors.push(error),
  });
  const show = (at: { cols: number; rows: number } = size) =>
    view.show({ ...at, ansi: lines.slice(-at.rows).join('\r\n'), cursor: { x: 0, y: 2, visible: true } });
  const text = () =>
    Array.from({ length: terminal.buffer.active.length }, (_, at) =>
      terminal.buffer.active.getLine(at)?.translateToString(true),
    );
  const pane = {
    lines,
    reads,
    errors,
    terminal,
    marks: () => drawn,
    top: () => pane.terminal.buffer.active.viewportY,
    view,
    show,
    text,
    breakDown() {
      broken = true;
    },
    print(more: number) {
      for (let at = 0; at < more; at += 1) lines.push(`line ${lines.length}`);
      show();
    },
  };
  return pane;
}

test('nothing above the screen is read until somebody looks back; then each line is there once, in order', async () => {
  const pane = paneOf(50);
  pane.show();
  await expect.poll(pane.text).toEqual(pane.lines.slice(-3));
  expect(pane.reads).toEqual([]);
  await pane.view.lookBack();
  expect(pane.text()).toEqual(pane.lines);
});

test('who scrolled up keeps their place while the program prints, and its new lines follow below', async () => {
  const pane = paneOf(50);
  pane.show();
  await pane.view.lookBack();
  pane.terminal.scrollToLine(10);
  pane.print(7);
  await expect.poll(pane.text).toEqual(pane.lines);
  expect(pane.terminal.buffer.active.viewportY).toBe(10);
  pane.print(900);
  await expect.poll(pane.text).toEqual(pane.lines);
  expect(pane.terminal.buffer.active.viewportY).toBe(10);
});

test('back at the end, the next screen forgets what is above, unless somebody searches', async () => {
  const pane = paneOf(50);
  pane.show();
  pane.view.setLooking(true);
  await pane.view.lookBack();
  pane.print(1);
  await expect.poll(pane.text).toEqual(pane.lines);
  pane.view.setLooking(false);
  const before = pane.reads.length;
  pane.print(1);
  await expect.poll(pane.text).toEqual(pane.lines.slice(-3));
  expect(pane.reads).toHaveLength(before);
});

test('another size numbers the lines anew: all are read again', async () => {
  const pane = paneOf(50);
  pane.show();
  await pane.view.lookBack();
  pane.terminal.scrollToLine(10);
  pane.show({ cols: 30, rows: 3 });
  await expect.poll(() => pane.terminal.cols).toBe(30);
  await expect.poll(pane.text).toEqual(pane.lines);
});

test('a pane whose lines cannot be read keeps showing its screen, and says why', async () => {
  const pane = paneOf(50);
  pane.show();
  pane.breakDown();
  await pane.view.lookBack();
  expect(pane.text()).toEqual(pane.lines.slice(-3));
  expect(pane.errors).toHaveLength(1);
});

test('from mark to mark: up to the last message, further up, down again, and after the last one to the end', async () => {
  const commands = [5, 20, 46].map((line) => ({ line, exit: line === 20 ? 1 : 0 }));
  const pane = paneOf(50, commands);
  pane.show();
  await pane.view.jump(-1);
  expect(pane.marks().map(({ line, failed, current }) => [line, failed, current])).toEqual([
    [5, false, false],
    [20, true, false],
    [46, false, true],
  ]);
  expect(pane.top()).toBe(45);
  await pane.view.jump(-1);
  expect(pane.top()).toBe(19);
  await pane.view.jump(-1);
  await pane.view.jump(-1);
  expect(pane.top()).toBe(4);
  await pane.view.jump(1);
  await pane.view.jump(1);
  expect(pane.top()).toBe(45);
  await pane.view.jump(1);
  expect(pane.top()).toBe(47);
  expect(pane.marks().some(({ current }) => current)).toBe(false);
});

test('a program that marks nothing has its marks where the delivered messages stand', async () => {
  const pane = paneOf(50, undefined, [{ words: 'line 30', title: 'You → bot: line 30' }]);
  pane.show();
  await pane.view.jump(-1);
  expect(pane.marks()).toEqual([{ line: 30, title: 'You → bot: line 30', failed: false, current: true }]);
  // A mark keeps its line while the program prints more.
  pane.print(5);
  await expect.poll(pane.text).toEqual(pane.lines);
  expect(pane.marks()).toMatchObject([{ line: 30, current: true }]);
});

test('a jump finds its message also when the program prints just then', async () => {
  const pane = paneOf(50, [{ line: 10, exit: 0 }]);
  pane.show();
  await expect.poll(pane.text).toEqual(pane.lines.slice(-3));
  const jump = pane.view.jump(-1);
  pane.print(1);
  await jump;
  expect(pane.top()).toBe(9);
  await expect.poll(pane.text).toEqual(pane.lines);
  expect([pane.top(), pane.marks().find(({ current }) => current)?.line]).toEqual([9, 10]);
});
