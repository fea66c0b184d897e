/** The table of moves, walked: each allowed one is made, each other one is refused with where it is and what was wanted. */
import { expect, test } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import { endedStatuses, type RunStatus, runStatuses } from '../../../../src/contracts/computer-use/run.ts';
import {
  guardMove,
  guardRequest,
  hasEnded,
  liveStatuses,
  moves,
  type RunRequest,
  requests,
} from '../../../../src/runtime-server/computer-use/runs/states.ts';

/** Every allowed move, written a second time, so that a change in the table alone fails here. */
const allowed = new Set([
  'queued running',
  'queued cancelling',
  'queued interrupted',
  'queued expired',
  'running paused',
  'running awaiting_approval',
  'running cancelling',
  'running completed',
  'running failed',
  'running interrupted',
  'running expired',
  'paused running',
  'paused awaiting_approval',
  'paused cancelling',
  'paused interrupted',
  'paused expired',
  'awaiting_approval running',
  'awaiting_approval paused',
  'awaiting_approval cancelling',
  'awaiting_approval failed',
  'awaiting_approval interrupted',
  'awaiting_approval expired',
  'cancelling cancelled',
  'cancelling interrupted',
  'cancelling expired',
]);

test('the guard lets through the moves of the table and refuses all others', () => {
  for (const from of runStatuses) {
    for (const to of runStatuses) {
      const refusal = thrownBy(() => guardMove('run_1', from, to));
      expect([from, to, refusal === null]).toEqual([from, to, allowed.has(`${from} ${to}`)]);
      if (refusal !== null) {
        expect(refusal.status).toBe(409);
        expect(refusal.options).toMatchObject({ wireCode: 'invalid_transition', extra: { from, requested: to } });
      }
    }
  }
});

test('nothing leaves a state that is an end, and every other state can end', () => {
  for (const status of endedStatuses) expect([hasEnded(status), moves[status]]).toEqual([true, []]);
  const reaches = (from: RunStatus): boolean =>
    hasEnded(from) || moves[from].some((to) => reaches2(to, new Set([from])));
  const reaches2 = (from: RunStatus, seen: Set<RunStatus>): boolean =>
    hasEnded(from) || moves[from].some((to) => !seen.has(to) && reaches2(to, new Set([...seen, from])));
  for (const status of liveStatuses) expect(reaches(status)).toBe(true);
});

test('what is asked for is done, is so already, or is refused', () => {
  const expected: Record<RunRequest, Partial<Record<RunStatus, boolean>>> = {
    cancel: {
      queued: true,
      running: true,
      paused: true,
      awaiting_approval: true,
      cancelling: false,
      cancelled: false,
    },
    pause: { running: true, awaiting_approval: true, paused: false },
    resume: { paused: true, running: false },
  };
  for (const request of Object.keys(requests) as RunRequest[]) {
    for (const from of runStatuses) {
      const wanted = expected[request][from];
      if (wanted !== undefined) expect(guardRequest('run_1', from, request)).toBe(wanted);
      else {
        const refusal = thrownBy(() => guardRequest('run_1', from, request));
        expect(refusal?.options.extra).toEqual({ from, requested: requests[request].to });
      }
    }
  }
});

function thrownBy(effect: () => unknown): AppError | null {
  try {
    effect();
    return null;
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}
