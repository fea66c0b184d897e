import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../scratch.ts';
import { keepKernel } from './kernel.ts';

test('of clusters that overlap, the last one puts back what was there before the first', () => {
  const folder = scratchFolder();
  const [settings, held] = [join(folder, 'sys'), join(folder, 'held')];
  for (const name of ['kernel/keys', 'fs/inotify']) mkdirSync(join(settings, name), { recursive: true });
  const at = (name: string) => join(settings, name);
  writeFileSync(at('kernel/panic'), '0\n');
  writeFileSync(at('fs/inotify/max_user_instances'), '128\n');
  const now = () =>
    ['kernel/panic', 'fs/inotify/max_user_instances'].map((name) => readFileSync(at(name), 'utf8').trim());
  const first = keepKernel(settings, held);
  // As a kubelet of the first cluster does.
  writeFileSync(at('kernel/panic'), '10\n');
  const second = keepKernel(settings, held);
  first();
  expect(now()).toEqual(['10', '8192']);
  second();
  expect(now()).toEqual(['0', '128']);
  expect(existsSync(held)).toBe(false);
  // One that was killed has put nothing back, and what it found still counts.
  keepKernel(settings, held);
  for (const name of readdirSync(held)) if (/^\d/.test(name)) renameSync(join(held, name), join(held, '999999999-1'));
  writeFileSync(at('kernel/panic'), '10\n');
  keepKernel(settings, held)();
  expect(now()).toEqual(['0', '128']);
});
