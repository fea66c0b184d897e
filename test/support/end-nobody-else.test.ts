/** Pids that a test could not read end nothing else. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';

test.each([0, -1, 1, Number('no pid')])('a signal to %s is refused', (pid) => {
  // Which nobody heeds, should it be sent.
  expect(() => process.kill(pid, 'SIGWINCH')).toThrow('would reach more than one process');
});

test('whether the first process lives may be asked', () => {
  expect(process.kill(1, 0)).toBe(true);
});

test('a program that a test started gets its signals', async () => {
  const child = spawn('sleep', ['300']);
  const over = once(child, 'exit');
  process.kill(child.pid!, 'SIGTERM');
  expect(await over).toEqual([null, 'SIGTERM']);
});
