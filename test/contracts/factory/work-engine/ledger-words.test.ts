import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ledgerSentence, ledgerWords } from '../../../../src/contracts/factory/work-engine/ledger-words.ts';

const row = { subject: 'run:run_1', body: {}, names: {} };

test('each type that the runtime writes to the ledger has a sentence', () => {
  const sources = globSync('src/{runtime-server,host,kit/ledger}/**/*.ts').map((path) => readFileSync(path, 'utf8'));
  // Types that are written through a variable are told by the names that they have in common.
  const written = sources
    .filter((text) => text.includes('ledger.append('))
    .flatMap((text) => text.match(/(?<=ledger\.append\(tx, \{\s*type: ')[a-z_.]+(?=')/g) ?? []);
  expect(written.length).toBeGreaterThan(25);
  expect(written.filter((type) => !Object.hasOwn(ledgerWords, type))).toEqual([]);
});

test('every sentence stands by itself for a row of an older version, whose names nobody knows any more', () => {
  for (const type of Object.keys(ledgerWords)) {
    const sentence = ledgerSentence({ ...row, type });
    expect([type, sentence]).toEqual([type, expect.not.stringMatching(/undefined|NaN|\[object/)]);
    expect([type, sentence.trim().length > 3]).toEqual([type, true]);
  }
});

test('a step or run that waits for a person needs you', () => {
  const told = { subject: 'node:node_1', names: { title: 'Publish' } };
  expect(ledgerSentence({ ...told, type: 'node.status', body: { status: 'needs_you' } })).toBe(
    'Step “Publish” needs you',
  );
  expect(ledgerSentence({ ...told, type: 'run.status', body: { status: 'done' } })).toBe('Run “Publish” is done');
});

test('a row that cannot be read and a type of a later version are named by their type', () => {
  expect(ledgerSentence({ ...row, type: 'delivery', body: null })).toBe('Unreadable: delivery');
  expect(ledgerSentence({ ...row, type: 'comet.seen' })).toBe('comet.seen of run:run_1');
});
