// Runs always: it holds every adapter to the same promises.
/** Every adapter keeps every promise of the conformance kit, with a stand-in of its program; the same rows run against real ones by `npm run test:harnesses`. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { harnesses } from '../../../src/contracts/factory/agent.ts';
import { programs } from '../../../src/runtime-server/harness/programs.ts';
import { playRows, type Verdict } from './play.ts';
import { rowNames, rows } from './rows.ts';
import { openStandIn, standIns } from './stand-in-subject.ts';
import { unicodeKinds } from './unicode.ts';

const verdicts = new Map<string, readonly Verdict[]>();
const ends: (() => void)[] = [];

beforeAll(async () => {
  await Promise.all(
    standIns.map(async (harness) => {
      const { subject, close } = await openStandIn(harness);
      ends.push(close);
      verdicts.set(harness, await playRows(subject));
    }),
  );
}, 300_000);
afterAll(() => {
  for (const end of ends) end();
});

describe.each(standIns)('%s', (harness) => {
  const exempt = programs[harness].promises?.exempt ?? {};
  test.each(rowNames.filter((row) => !(row in exempt)))('%s', (row) => {
    const verdict = verdicts.get(harness)?.find((one) => one.row === row);
    expect(`${rows[row].promises}: ${verdict?.state} ${verdict?.why}`).toBe(`${rows[row].promises}: passed `);
  });
});

test('every program that promises something has a stand-in (of an agent over ACP see acp.test.ts), and a row that does not apply to it is one of the kit, with a reason', () => {
  const promising = harnesses.filter((name) => programs[name].promises !== undefined);
  expect([...standIns, 'acp'].sort()).toEqual([...promising].sort());
  for (const name of promising) {
    for (const [row, why] of Object.entries(programs[name].promises?.exempt ?? {})) {
      expect(rowNames).toContain(row);
      expect(why).toMatch(/\S+ \S+/);
    }
  }
});

test('the kit has thirty kinds of characters, and each is written as its program has to take it', () => {
  expect(Object.keys(unicodeKinds)).toHaveLength(30);
  const {
    'combining marks': marks = '',
    'Korean in parts': korean = '',
    'emoji that are joined': joined = '',
  } = unicodeKinds;
  for (const text of [marks, korean]) expect(text.normalize('NFC')).not.toBe(text);
  expect(joined).toContain('\u200d');
});
