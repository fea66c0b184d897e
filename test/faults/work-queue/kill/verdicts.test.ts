import { expect, test } from 'vitest';
import type { Change } from './history.ts';
import { lostAcks, notEndedOnce, type Seen, toldTooLong, twoHolders } from './verdicts.ts';

/** Task t: leased by w1, which is killed, then by w2, which ends it. */
const change = (at: number, status: string, fence: number, worker: string | null, until: number | null): Change => ({
  id: 't',
  status,
  fence,
  worker,
  until,
  at,
  leaseId: fence === 0 ? null : `lease_${fence}`,
});
const fine: Seen = {
  created: new Map([['1/0', 't']]),
  history: [
    change(0, 'queued', 0, null, null),
    change(10, 'leased', 1, 'w1', 70),
    change(30, 'running', 1, 'w1', 90),
    change(90, 'leased', 2, 'w2', 150),
    change(95, 'running', 2, 'w2', 155),
    change(100, 'succeeded', 2, 'w2', 155),
  ],
  tasks: [{ id: 't', key: '1/0', status: 'succeeded', fence: 2, stdout: '2\n' }],
  marks: [
    { kind: 'S', id: 't', fence: 1, at: 12 },
    { kind: 'S', id: 't', fence: 2, at: 92 },
    { kind: 'E', id: 't', fence: 2, at: 99 },
  ],
  words: [
    { worker: 'w1', word: 'began', id: 't', at: 12 },
    { worker: 'w2', word: 'began', id: 't', at: 91 },
    { worker: 'w2', word: 'succeeded', id: 't', at: 101 },
  ],
  told: [
    { id: 't', fence: 1, askedAt: 9, ttlMs: 60 },
    { id: 't', fence: 1, askedAt: 29, ttlMs: 60 },
    { id: 't', fence: 2, askedAt: 89, ttlMs: 60 },
  ],
  passed: [],
  kills: new Map([['w1', [40]]]),
};
const problems = (seen: Seen) => [...notEndedOnce(seen), ...twoHolders(seen), ...toldTooLong(seen), ...lostAcks(seen)];
const last = fine.tasks[0]!;

test('a task that another worker ends after its holder was killed is no problem', () => {
  expect(problems(fine)).toEqual([]);
});

test('an end whose answer its worker did not live to say is no problem', () => {
  expect(problems({ ...fine, words: fine.words.slice(0, 2) })).toEqual([]);
});

/** The same with leases of a minute, by the clock of a database that is put ahead once the holder is dead. */
const at = (changes: readonly Change[], from: number, ms: number) =>
  changes.map((change) =>
    change.fence < from ? change : { ...change, at: change.at + ms, until: (change.until ?? 0) + ms },
  );
const told = fine.told.map((one) => ({ ...one, ttlMs: 60_000 }));
const later = at(fine.history, 2, 60_000);

test('a task that is given on because time passed for the database is no problem, and what is told after that counts from there', () => {
  const passed = [{ at: 60, ms: 60_000 }];
  expect(toldTooLong({ ...fine, history: later, told, passed })).toEqual([]);
  const again = [...later, change(61_200, 'leased', 3, 'w3', 121_200)];
  expect(toldTooLong({ ...fine, history: again, told, passed })).toEqual([
    expect.stringContaining('given to w3 58889 ms before 2 was told to end'),
  ]);
});

test.each<[string, Partial<Seen>]>([
  [
    'a worker that was told of a longer lease than is stored',
    { told: fine.told.with(1, { ...fine.told[1]!, ttlMs: 1_100 }) },
  ],
  ['a worker that was told so with its first answer', { told: fine.told.with(0, { ...fine.told[0]!, ttlMs: 1_100 }) }],
  ['a command of a lease that nobody was told of', { told: fine.told.slice(0, 2) }],
  ['a creation that was answered and is not there', { created: new Map([['2/0', 'u']]) }],
  ['a creation that is there twice', { tasks: [last, { ...last, id: 'u' }] }],
  ['a task that never ended', { history: fine.history.slice(0, 5), tasks: [{ ...last, status: 'running' }] }],
  ['a task that failed', { tasks: [{ ...last, status: 'failed', stdout: null }], words: [] }],
  ['a task that ended and went on', { history: [...fine.history, change(120, 'leased', 3, 'w1', 180)] }],
  ['a task that ended twice', { history: [...fine.history, change(120, 'failed', 2, 'w2', null)] }],
  [
    'two workers that were told of its end',
    { words: [...fine.words, { worker: 'w1', word: 'succeeded', id: 't', at: 99 }] },
  ],
  ['an end without a run', { marks: fine.marks.slice(0, 2) }],
  ['a run that is there twice', { marks: [...fine.marks, fine.marks[2]!] }],
  [
    'a lease that was given before another had ended',
    { history: fine.history.with(3, change(89, 'leased', 2, 'w2', 149)) },
  ],
  ['a command that began while another ran', { kills: new Map() }],
  ['a command whose worker was killed only later', { kills: new Map([['w1', [93]]]) }],
  [
    'a command that began before another had ended',
    { marks: [...fine.marks, { kind: 'E', id: 't', fence: 1, at: 93 }], kills: new Map() },
  ],
  ['an ack that was answered and is not there', { tasks: [{ ...last, status: 'cancelled', stdout: null }] }],
  ['an ack whose result is another’s', { tasks: [{ ...last, stdout: '1\n' }] }],
])('%s is found', (_what, other) => {
  expect(problems({ ...fine, ...other })).not.toEqual([]);
});
