/** Bots over ACP keep the promises of the conformance kit, with a stand-in of an agent; real agents play their scenes in `npm run test:acp`. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acpProgram } from '../../../src/runtime-server/harness/acp/program.ts';
import { openAcpStandIn } from './acp-subject.ts';
import { playRows, type Verdict } from './play.ts';
import { rowNames, rows } from './rows.ts';

const exempt: Readonly<Record<string, string>> = acpProgram.promises.exempt;
let verdicts: readonly Verdict[] = [];
let end = async () => {};

beforeAll(async () => {
  const { subject, close } = await openAcpStandIn();
  end = close;
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
