import { expect, test } from 'vitest';
import { stepTimes } from '../../../src/runtime-server/workflows/step-times.ts';

test('each state of a step counts until its next move, one that is still going until now, and none before its turn or after its end', () => {
  const moves = [
    { at: 0, status: 'new' },
    { at: 100, status: 'ready' },
    { at: 130, status: 'working' },
    { at: 1130, status: 'checking' },
    { at: 1180, status: 'working' },
    { at: 1200, status: 'needs_you' },
  ] as const;
  const times = { waitingMs: 30, workingMs: 1020, checkingMs: 50 };
  expect(stepTimes(moves, 5200)).toEqual({ ...times, needsYouMs: 4000 });
  expect(stepTimes([...moves, { at: 1300, status: 'done' }], 5200)).toEqual({ ...times, needsYouMs: 100 });
  expect(stepTimes([], 5200)).toEqual({ waitingMs: 0, workingMs: 0, checkingMs: 0, needsYouMs: 0 });
});

test('a clock that was set back takes no time away', () => {
  const moves = [
    { at: 1000, status: 'working' },
    { at: 400, status: 'checking' },
  ] as const;
  expect(stepTimes(moves, 700)).toMatchObject({ workingMs: 0, checkingMs: 300 });
});
