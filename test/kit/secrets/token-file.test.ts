/** Token files: made private, and refused whenever somebody else could have read or made them. */
import { chmodSync, chownSync, linkSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import {
  createTokenFile,
  ensureTokenFile,
  newToken,
  readTokenFile,
  tokenHash,
  tokenMatches,
} from '../../../src/kit/secrets/token-file.ts';
import { scratchFolder } from '../../support/scratch.ts';

const path = () => join(scratchFolder(), 'token');

test('a new token has 256 bits, is private, and comes back', () => {
  const file = path();
  const token = createTokenFile(file);
  expect(token).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readTokenFile(file)).toBe(token);
  expect(ensureTokenFile(file)).toBe(token);
  expect(newToken()).not.toBe(token);
});

test('replacing a file that others may read leaves a private one, and nothing beside it', () => {
  const file = path();
  writeFileSync(file, 'old', { mode: 0o644 });
  createTokenFile(file);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readdirSync(join(file, '..'))).toEqual(['token']);
});

const good = `${'a'.repeat(43)}\n`;
const refusals: [string, (file: string) => void, string][] = [
  [
    'is a link',
    (file) => {
      writeFileSync(`${file}.real`, good, { mode: 0o600 });
      symlinkSync(`${file}.real`, file);
    },
    'is a link',
  ],
  ['is a folder', (file) => mkdirSync(file, { mode: 0o700 }), 'not a regular file'],
  ['may be read by the group', (file) => writeMode(file, 0o640), 'has mode 0640'],
  ['may be read by everybody', (file) => writeMode(file, 0o604), 'has mode 0604'],
  ['may be written by everybody', (file) => writeMode(file, 0o602), 'has mode 0602'],
  ['is too large', (file) => writeFileSync(file, 'a'.repeat(4097), { mode: 0o600 }), 'has 4097 bytes'],
  ['is empty', (file) => writeFileSync(file, '\n', { mode: 0o600 }), 'is empty'],
  [
    'holds a short token',
    (file) => writeFileSync(file, 'a'.repeat(21), { mode: 0o600 }),
    'no usable token (21 characters)',
  ],
  ['holds two words', (file) => writeFileSync(file, `${'a'.repeat(30)} b`, { mode: 0o600 }), 'no usable token'],
];

function writeMode(file: string, mode: number): void {
  writeFileSync(file, good);
  chmodSync(file, mode);
}

test.each(refusals)('a token file that %s is refused, and not repaired', (_, make, fact) => {
  const file = path();
  make(file);
  for (const read of [readTokenFile, ensureTokenFile]) {
    expect(() => read(file)).toThrowError(
      expect.objectContaining({ code: 'refused', fact: expect.stringContaining(fact) }),
    );
  }
});

test.runIf(process.getuid?.() === 0)("another user's token file is refused", () => {
  const file = path();
  writeFileSync(file, good, { mode: 0o600 });
  chownSync(file, 12_345, 12_345);
  expect(() => readTokenFile(file)).toThrow('belongs to user 12345');
});

test('a hard link to a private file is that file', () => {
  const file = path();
  const token = createTokenFile(file);
  linkSync(file, `${file}.2`);
  expect(readTokenFile(`${file}.2`)).toBe(token);
});

test('a missing file is not found, and made only when asked', () => {
  const file = path();
  expect(() => readTokenFile(file)).toThrowError(expect.objectContaining({ code: 'not_found' }));
  const made = ensureTokenFile(file);
  expect(readTokenFile(file)).toBe(made);
});

test('tokens are compared by hash: equal ones match, any other does not', () => {
  const token = newToken();
  const hash = tokenHash(token);
  expect(tokenMatches(hash, token)).toBe(true);
  for (const other of ['', token.slice(1), `${token} `, token.toLowerCase(), newToken()]) {
    expect(tokenMatches(hash, other)).toBe(false);
  }
});
