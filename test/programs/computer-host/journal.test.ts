/** What clouds that were away for a moment can still be told of the changes of computers. */
import { expect, test } from 'vitest';
import { createJournal } from '../../../src/programs/computer-host/journal.ts';
import type { HostChange } from '../../../src/programs/computer-host/protocol.ts';

const journal = () => createJournal({ now: () => 7 });
const ended = (number: number) => ({ computer: `cmp_${number}`, state: 'stopped', why: 'it fell' }) as const;

test('tells each change once: the earlier ones to who asks, the later ones to who listens', () => {
  const one = journal();
  const { run } = one.since(null);
  one.add(ended(1));
  const heard: HostChange[] = [];
  const stop = one.onChange((change) => heard.push(change));
  one.add(ended(2));
  stop();
  one.add(ended(3));
  expect(heard).toEqual([{ ...ended(2), number: 2, at: 7 }]);
  expect(one.since({ run, number: 1 })).toEqual({
    run,
    number: 3,
    missed: false,
    changes: [2, 3].map((number) => ({ ...ended(number), number, at: 7 })),
  });
  expect(one.since({ run, number: 3 }).changes).toEqual([]);
  expect(one.since(null)).toEqual({ run, number: 3, missed: false, changes: [] });
});

test('says that changes were missed: after a restart, when they were too many, and when it never told that one', () => {
  const one = journal();
  const { run } = one.since(null);
  for (let number = 1; number <= 2001; number += 1) one.add(ended(number));
  expect(one.since({ run, number: 0 })).toMatchObject({ missed: true, changes: [], number: 2001 });
  expect(one.since({ run, number: 1 }).changes).toHaveLength(2000);
  expect(one.since({ run, number: 2002 }).missed).toBe(true);
  const next = journal();
  expect(next.since({ run, number: 1 })).toMatchObject({ missed: true, number: 0 });
  expect(next.since(null).run).not.toBe(run);
});
