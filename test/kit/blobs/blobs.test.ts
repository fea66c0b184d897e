import { createHash } from 'node:crypto';
import { existsSync, openSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createBlobs } from '../../../src/kit/blobs/blobs.ts';
import { scratchFolder } from '../../support/scratch.ts';

async function* chunks(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}
const sha = (text: string) => createHash('sha256').update(text).digest('hex');
const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((one) => one.isFile());

test('a stream is kept under its hash, the same content once', async () => {
  const folder = scratchFolder();
  const blobs = createBlobs(folder);
  const first = await (await blobs.receive(chunks('ab', 'cd'), 4)).keep();
  const second = await (await blobs.receive(chunks('abcd'), 4)).keep();
  expect(first).toEqual({ sha256: sha('abcd'), size: 4, path: `${sha('abcd').slice(0, 2)}/${sha('abcd')}` });
  expect(second).toEqual(first);
  expect(readFileSync(join(folder, first.path), 'utf8')).toBe('abcd');
  expect(filesIn(folder)).toHaveLength(1);
});

test('what is too large, cut off or dropped leaves nothing behind', async () => {
  const folder = scratchFolder();
  const blobs = createBlobs(folder);
  await expect(blobs.receive(chunks('abc', 'de'), 4)).rejects.toMatchObject({
    code: 'usage',
    fact: 'The file is larger than 4 bytes.',
  });
  async function* cut() {
    yield Buffer.from('a');
    throw new Error('gone');
  }
  await expect(blobs.receive(cut(), 4)).rejects.toThrow('gone');
  const draft = await blobs.receive(chunks('x'), 4);
  draft.drop();
  draft.drop();
  expect(filesIn(folder)).toEqual([]);
});

test('a file that is there is taken over with its hash, and what a killed program left is swept', async () => {
  const folder = scratchFolder();
  const blobs = createBlobs(folder);
  const file = join(folder, 'log');
  const text = 'line\n'.repeat(50_000);
  writeFileSync(file, text);
  const blob = await blobs.adopt(file, openSync(file, 'r+'));
  expect(blob).toMatchObject({ sha256: sha(text), size: text.length });
  expect(existsSync(file)).toBe(false);
  expect(readFileSync(blobs.fileOf(blob.sha256), 'utf8')).toBe(text);
  void (await blobs.receive(chunks('half'), 9));
  createBlobs(folder);
  expect(filesIn(folder)).toHaveLength(1);
});
