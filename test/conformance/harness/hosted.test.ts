/** Hosted bots keep the promises of the conformance kit as agent programs do, in Gantry as a person gets it; kill -9 is of Gantry itself. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openHosted } from './hosted-subject.ts';
import { playRows, type Verdict } from './play.ts';
import { rowNames, rows } from './rows.ts';

let verdicts: readonly Verdict[] = [];
let exempt: Readonly<Record<string, string>> = {};
let end = async () => {};

beforeAll(async () => {
  const { subject, close } = await openHosted();
  end = close;
  ({ exempt } = subject);
  verdicts = await playRows(subject);
}, 300_000);
afterAll(() => end());

test.each(rowNames)('%s', (row) => {
  const { state, why } = verdicts.find((one) => one.row === row) ?? {};
  expect([rows[row].promises, state, why]).toEqual([
    rows[row].promises,
    ...(row in exempt ? ['n/a', exempt[row]] : ['passed', '']),
  ]);
});
