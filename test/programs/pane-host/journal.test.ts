import { randomBytes } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  createJournal,
  type Journal,
  journalFiles,
  readFiles,
  removeJournal,
} from '../../../src/programs/pane-host/journal.ts';
import { give } from '../../../src/programs/pane-host/pty.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { until } from './support.ts';

const megabyte = 1024 * 1024;

function journal(folder: string, faults: string[] = []): Journal {
  return createJournal({ folder, pane: 'p', onFault: (why) => void faults.push(why) });
}

/** All bytes from `offset`, through the same calls that readers use. */
function readFrom(from: Journal, offset: number): Buffer {
  const pieces: Uint8Array[] = [];
  let at = offset;
  while (at < from.end) {
    const { start, bytes } = from.read(at, 100_000);
    if (start !== at) throw new Error(`${at} to ${start} are gone`);
    pieces.push(bytes);
    at += bytes.length;
  }
  return Buffer.concat(pieces);
}

test('every byte is found by its offset, in memory, on disk and across both, and after the journal is finished', async () => {
  const folder = scratchFolder();
  const made = journal(folder);
  const bytes = randomBytes(10 * megabyte);
  for (let at = 0; at < bytes.length; at += 333_333) {
    give(made, bytes.subarray(at, at + 333_333));
    await until('it is saved', () => made.unsaved < megabyte);
  }
  for (const offset of [0, 1, 8 * megabyte - 1, 8 * megabyte, 9 * megabyte, bytes.length - 5]) {
    expect(readFrom(made, offset).equals(bytes.subarray(offset))).toBe(true);
  }
  expect(
    Buffer.from(made.view(bytes.length - 10, 4) ?? []).equals(bytes.subarray(bytes.length - 10, bytes.length - 6)),
  ).toBe(true);
  expect(made.view(0, 10)).toBeNull();
  await made.finish();
  expect(readFrom(made, 0).equals(bytes)).toBe(true);
  const files = journalFiles(folder, 'p');
  expect(files.reduce((sum, file) => sum + file.size, 0)).toBe(bytes.length);
  expect(
    Buffer.from(readFiles(files, 8 * megabyte - 10, 20).bytes).equals(
      bytes.subarray(8 * megabyte - 10, 8 * megabyte + 10),
    ),
  ).toBe(true);
  removeJournal(folder, 'p');
  expect(journalFiles(folder, 'p')).toEqual([]);
});

test('the disk holds no more than its cap, and a reader of what was dropped is told where the rest begins', async () => {
  const folder = scratchFolder();
  const made = journal(folder);
  const block = randomBytes(megabyte);
  for (let count = 0; count < 45; count++) {
    give(made, block);
    await until('it is saved', () => made.unsaved < megabyte);
  }
  await made.finish();
  const files = journalFiles(folder, 'p');
  expect(files.reduce((sum, file) => sum + file.size, 0)).toBeLessThanOrEqual(33 * megabyte);
  const { start, bytes } = made.read(0, 1000);
  expect(start).toBe(files[0]?.offset);
  expect(start).toBeGreaterThan(10 * megabyte);
  expect(Buffer.from(bytes).equals(block.subarray(start % megabyte, (start % megabyte) + 1000))).toBe(true);
});

test('a disk that takes nothing loses no byte that memory holds, is told once, and is used again when it works', async () => {
  const folder = join(scratchFolder(), 'panes');
  const faults: string[] = [];
  const made = journal(folder, faults);
  const first = randomBytes(300_000);
  give(made, first);
  await until('the fault is told', () => faults.length > 0);
  give(made, first);
  await until('that is tried too', () => made.unsaved === 0);
  expect(faults).toHaveLength(1);
  expect(readFrom(made, 0).equals(Buffer.concat([first, first]))).toBe(true);
  mkdirSync(folder);
  const second = randomBytes(300_000);
  give(made, second);
  await made.finish();
  const files = journalFiles(folder, 'p');
  expect(files.map((file) => [file.offset, file.size])).toEqual([[600_000, 300_000]]);
  expect(Buffer.from(readFiles(files, 0, 300_000).bytes).equals(second)).toBe(true);
  rmSync(folder, { recursive: true });
});
