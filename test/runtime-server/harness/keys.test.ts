import { expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { namedKeys } from '../../../src/contracts/factory/agent.ts';
import { keyBytes } from '../../../src/runtime-server/harness/keys.ts';

test('every named key has bytes, with every prefix, and no two named keys have the same', () => {
  const plain = namedKeys.map((key) => keyBytes(key));
  expect(new Set(plain).size).toBe(namedKeys.length);
  for (const prefix of ['C-', 'M-', 'S-', 'C-M-', 'C-M-S-']) {
    for (const key of namedKeys) expect(keyBytes(prefix + key).length).toBeGreaterThan(0);
  }
});

test.each([
  ['Enter', '\r'],
  ['Tab', '\t'],
  ['S-Tab', '\x1b[Z'],
  ['Escape', '\x1b'],
  ['Backspace', '\x7f'],
  ['C-Backspace', '\b'],
  ['Delete', '\x1b[3~'],
  ['Space', ' '],
  ['C-Space', '\0'],
  ['Up', '\x1b[A'],
  ['C-Right', '\x1b[1;5C'],
  ['M-S-Left', '\x1b[1;4D'],
  ['Home', '\x1b[H'],
  ['End', '\x1b[F'],
  ['PageUp', '\x1b[5~'],
  ['C-PageDown', '\x1b[6;5~'],
  ['Insert', '\x1b[2~'],
  ['F1', '\x1bOP'],
  ['S-F1', '\x1b[1;2P'],
  ['F5', '\x1b[15~'],
  ['F12', '\x1b[24~'],
  ['C-c', '\x03'],
  ['C-C', '\x03'],
  ['C-[', '\x1b'],
  ['C-_', '\x1f'],
  ['C-?', '\x7f'],
  ['M-x', '\x1bx'],
  ['M-Enter', '\x1b\r'],
  ['C-M-a', '\x1b\x01'],
  ['S-a', 'A'],
  ['ä', 'ä'],
  ['-', '-'],
  ['C--', null],
  ['M--', '\x1b-'],
])('%s is what xterm sends', (key, bytes) => {
  if (bytes === null) expect(() => keyBytes(key)).toThrow(AppError);
  else expect(keyBytes(key)).toBe(bytes);
});

test('arrows, Home and End follow the application cursor mode; with modifiers they do not', () => {
  expect([keyBytes('Up', true), keyBytes('End', true), keyBytes('C-Up', true)]).toEqual([
    '\x1bOA',
    '\x1bOF',
    '\x1b[1;5A',
  ]);
});

test.each(['Entr', 'enter', 'C-', 'X-c', '', 'ab', 'F13', 'C-ä', '\x07'])(
  'the unknown key %j is usage and named',
  (key) => {
    try {
      keyBytes(key);
      expect.unreachable();
    } catch (error) {
      expect(error).toMatchObject({ code: 'usage', fact: `"${key}" is not a key.` });
    }
  },
);
