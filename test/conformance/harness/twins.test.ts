/** An adapter that is broken in one way fails exactly the row that promises otherwise: the kit sees each of these faults, and blames no other. */
import { expect, test } from 'vitest';
import { playRows } from './play.ts';
import { rowNames } from './rows.ts';
import { openStandIn } from './stand-in-subject.ts';
import { twins } from './twins.ts';

test.concurrent.each(twins)(
  'one that $name fails the row "$breaks", and no other',
  async ({ change, breaks }) => {
    const { subject, close } = await openStandIn('claude', change);
    try {
      const verdicts = await playRows(subject);
      const failed = verdicts.filter(({ state }) => state === 'failed');
      expect(
        failed.map(({ row }) => row),
        JSON.stringify(failed),
      ).toEqual([breaks]);
    } finally {
      close();
    }
  },
  300_000,
);

test('each row has an adapter that breaks it', () => {
  expect(rowNames.filter((row) => !twins.some(({ breaks }) => breaks === row))).toEqual([]);
});
