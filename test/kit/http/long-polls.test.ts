/** Calls that are held until a thing has a state: none misses a change, none costs a timer beyond its deadline, and one client has at most so many. */
import { expect, test } from 'vitest';
import { createLongPolls, outcomeOf, statesOf } from '../../../src/kit/http/long-polls.ts';
import type { Principal } from '../../../src/kit/http/types.ts';
import { createTestClock } from '../../support/test-clock.ts';

const who = (keyId = 'key_1', userId = 'user_1'): Principal => ({
  kind: 'key',
  userId,
  scopes: new Set(),
  via: 'key',
  keyId,
});

function start(max?: number) {
  const clock = createTestClock();
  const polls = createLongPolls({ timers: clock, ...(max === undefined ? {} : { max }) });
  const states = new Map<string, string>();
  let reads = 0;
  const wait = (key: string, wanted: string, more: { principal?: Principal; signal?: AbortSignal; ms?: number } = {}) =>
    polls.poll({
      principal: more.principal ?? who(),
      key,
      ms: more.ms ?? 30_000,
      signal: more.signal ?? new AbortController().signal,
      read: async () => {
        reads += 1;
        return states.get(key) ?? 'new';
      },
      done: (state) => state === wanted,
    });
  return {
    clock,
    polls,
    states,
    wait,
    reads: () => reads,
    move(key: string, state: string) {
      states.set(key, state);
      polls.changed(key);
    },
  };
}

test('a wait ends with the change that it waits for, and not with another one', async () => {
  const { wait, move, clock } = start();
  const ended: string[] = [];
  const waiting = wait('a', 'done').then((state) => ended.push(state));
  await clock.advance(0);
  move('a', 'working');
  move('b', 'done');
  await clock.advance(0);
  expect(ended).toEqual([]);
  move('a', 'done');
  await waiting;
  expect([ended, clock.pending()]).toEqual([['done'], 0]);
});

test('a change during the first read is not missed', async () => {
  const { polls, clock } = start();
  let state = 'new';
  let go = () => {};
  let reads = 0;
  const waiting = polls.poll({
    principal: who(),
    key: 'a',
    ms: 30_000,
    signal: new AbortController().signal,
    read: async () => {
      const seen = state;
      reads += 1;
      if (reads === 1) await new Promise<void>((resolve) => (go = resolve));
      return seen;
    },
    done: (seen) => seen === 'done',
  });
  await clock.advance(0);
  state = 'done';
  polls.changed('a');
  go();
  expect(await waiting).toBe('done');
});

test('when the time is over the wait answers what is then, also what nobody told of', async () => {
  const { wait, states, clock } = start();
  const waiting = wait('a', 'done');
  states.set('a', 'expired');
  await clock.advance(30_000);
  expect(await waiting).toBe('expired');
  expect(await wait('a', 'done', { ms: 0 })).toBe('expired');
});

test('10,000 waits of ten clients share the reads of what they wait for; the 1,001st of one client is refused with 429', async () => {
  const { wait, move, reads, clock } = start();
  const clients = Array.from({ length: 10 }, (_, n) => who(`key_${n}`));
  const waits = clients.flatMap((principal) => Array.from({ length: 1_000 }, () => wait('a', 'done', { principal })));
  await clock.advance(0);
  // A deadline each, and nothing else that runs.
  expect(clock.pending()).toBe(10_000);
  await expect(wait('a', 'done', { principal: clients[3]! })).rejects.toMatchObject({
    status: 429,
    options: { retryAfter: 5 },
  });
  const before = reads();
  expect(before).toBeLessThanOrEqual(2);
  move('a', 'done');
  expect(new Set(await Promise.all(waits))).toEqual(new Set(['done']));
  expect([reads() - before, clock.pending()]).toEqual([1, 0]);
  // Their places are free again.
  expect(await wait('a', 'done', { principal: clients[3]! })).toBe('done');
});

test('who leaves gives the place back, and another client of the same person has places of their own', async () => {
  const { wait, clock } = start(1);
  const leave = new AbortController();
  const left = wait('a', 'done', { signal: leave.signal });
  await expect(wait('b', 'done')).rejects.toMatchObject({ status: 429 });
  const other = wait('b', 'new', { principal: who('key_2') });
  expect(await other).toBe('new');
  leave.abort();
  await expect(left).rejects.toMatchObject({ code: 'transport' });
  expect(await wait('b', 'new')).toBe('new');
  expect(clock.pending()).toBe(0);
});

test('an unknown state is a wrong question; one that needs a person or has ended is said as such', () => {
  expect(statesOf(undefined, 'run', ['done', 'failed'], ['done'])).toEqual(['done']);
  expect(statesOf('failed, done', 'run', ['done', 'failed'], ['done'])).toEqual(['failed', 'done']);
  expect(() => statesOf('finished', 'run', ['done', 'failed'], ['done'])).toThrow(
    '"finished" is not a state of a run.',
  );
  expect(outcomeOf('needs_you', ['done'], false)).toBe('needs_you');
  expect(outcomeOf('needs_you', ['needs_you'], false)).toBe('met');
  expect(outcomeOf('failed', ['done'], true)).toBe('ended');
  expect(outcomeOf('working', ['done'], false)).toBe('waiting');
});
