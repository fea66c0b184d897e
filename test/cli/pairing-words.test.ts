import { expect, test } from 'vitest';
import { statusLines } from '../../src/cli/pairing/words.ts';
import type { LocalPairing } from '../../src/contracts/link/local-pairing.ts';

const paired: LocalPairing = {
  state: 'paired',
  cloudUrl: 'https://gantry.example',
  user: { id: 'user_1', name: 'Ada' },
  computerId: 'computer_1',
};
const since = '2026-07-10T12:00:00.000Z';
const first = (pairing: LocalPairing) => statusLines(pairing, { gantry: 'gantry' })[0];

test('a computer that its cloud refuses is not said to be simply paired', () => {
  expect(first({ ...paired, link: { linked: true, since } })).toBe('This computer is paired.');
  const problem = 'The cloud answered 401: it no longer accepts this computer’s key.';
  const refused = { ...paired, link: { linked: false, since }, problem };
  expect(first(refused)).toBe('This computer is paired, but its link is down.');
  expect(statusLines(refused, { gantry: 'gantry' })).toContain(problem);
});
