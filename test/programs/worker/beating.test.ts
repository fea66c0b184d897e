/** A lease is kept by beats. It is lost by the queue's answer or at its own deadline, never because one beat failed. */
import { expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { keepBeating } from '../../../src/programs/worker/beating.ts';
import { createTestClock } from '../../support/test-clock.ts';

type Answer = 'ok' | 'stop' | 'away' | 'gone' | 'silent';

function start(answers: readonly Answer[]) {
  const clock = createTestClock();
  const events: string[] = [];
  const beats: number[] = [];
  const beat = (signal: AbortSignal) => {
    const answer = answers[Math.min(beats.length, answers.length - 1)]!;
    beats.push(clock.monotonic());
    if (answer === 'away') return Promise.reject(new AppError('transport', 'Nobody answers.', ''));
    if (answer === 'gone') return Promise.reject(new AppError('not_found', 'It is not yours.', ''));
    if (answer === 'silent') {
      return new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
    }
    return Promise.resolve({ ttlMs: 60_000, stopRequested: answer === 'stop' });
  };
  const letGo = keepBeating(
    { ttlMs: 60_000, askedAt: clock.monotonic() },
    {
      beat,
      now: () => clock.monotonic(),
      after: clock.after,
      onStop: () => events.push(`stop ${clock.monotonic()}`),
      onLost: (why) => events.push(`lost ${clock.monotonic()} ${why}`),
    },
  );
  return { clock, events, beats, letGo };
}

test('it beats at once and three times in the life of a lease', async () => {
  const { clock, events, beats, letGo } = start(['ok']);
  await clock.advance(130_000);
  expect(beats).toEqual([0, 20_000, 40_000, 60_000, 80_000, 100_000, 120_000]);
  letGo();
  await clock.advance(300_000);
  expect(beats).toHaveLength(7);
  expect(clock.pending()).toBe(0);
  expect(events).toEqual([]);
});

test('a beat that fails is sent again, and the lease is kept', async () => {
  const { clock, events, beats } = start(['ok', 'away', 'away', 'away', 'ok']);
  await clock.advance(50_000);
  expect(beats).toEqual([0, 20_000, 22_000, 24_000, 26_000, 46_000]);
  expect(events).toEqual([]);
});

test.each(['away', 'silent'] as const)(
  'when every beat is %s it is lost at its deadline, counted from the last beat that was accepted',
  async (answer) => {
    const { clock, events } = start(['ok', answer]);
    await clock.advance(57_999);
    expect(events).toEqual([]);
    await clock.advance(2);
    expect(events).toEqual(['lost 58000 No heartbeat was accepted in time.']);
    expect(clock.pending()).toBe(0);
  },
);

test('the queue’s own word ends it at once', async () => {
  const { clock, events } = start(['ok', 'gone']);
  await clock.advance(20_000);
  expect(events).toEqual(['lost 20000 It is not yours.']);
  await clock.advance(300_000);
  expect(events).toHaveLength(1);
});

test('a stop is told once, and the lease is kept meanwhile', async () => {
  const { clock, events, beats } = start(['ok', 'stop']);
  await clock.advance(100_000);
  expect(events).toEqual(['stop 20000']);
  expect(beats).toHaveLength(6);
});
