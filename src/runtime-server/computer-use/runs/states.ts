/** The states of a run and the moves between them, as data. Must not know stores or who moves. */
import { AppError } from '../../../contracts/common/errors.ts';
import { endedStatuses, type RunStatus } from '../../../contracts/computer-use/run.ts';

export const moves: Readonly<Record<RunStatus, readonly RunStatus[]>> = {
  queued: ['running', 'cancelling', 'interrupted', 'expired'],
  running: ['paused', 'awaiting_approval', 'cancelling', 'completed', 'failed', 'interrupted', 'expired'],
  // Back to a question that was still unanswered after the pause.
  paused: ['running', 'awaiting_approval', 'cancelling', 'interrupted', 'expired'],
  // Control can be taken from a run that waits for an answer.
  awaiting_approval: ['running', 'paused', 'cancelling', 'failed', 'interrupted', 'expired'],
  cancelling: ['cancelled', 'interrupted', 'expired'],
  completed: [],
  failed: [],
  cancelled: [],
  interrupted: [],
  expired: [],
};

export const hasEnded = (status: RunStatus): boolean => (endedStatuses as readonly RunStatus[]).includes(status);

export const liveStatuses: readonly RunStatus[] = (Object.keys(moves) as RunStatus[]).filter(
  (status) => !hasEnded(status),
);

/** Requests of people and keys to a run. `satisfied`: it is in that state already, or about to be. */
export const requests = {
  cancel: { to: 'cancelling', from: ['queued', 'running', 'paused', 'awaiting_approval'], satisfied: ['cancelled'] },
  pause: { to: 'paused', from: ['running', 'awaiting_approval'], satisfied: [] },
  // A run that waits for an answer is answered, not resumed.
  resume: { to: 'running', from: ['paused'], satisfied: [] },
} as const satisfies Readonly<
  Record<string, { to: RunStatus; from: readonly RunStatus[]; satisfied: readonly RunStatus[] }>
>;
export type RunRequest = keyof typeof requests;

/** The one guard: 409 `invalid_transition` with `from` and `requested`. */
export function guardMove(runId: string, from: RunStatus, to: RunStatus): void {
  if (!moves[from].includes(to)) throw invalidTransition(runId, from, to);
}

/** False: the run is in the requested state already. Throws as {@link guardMove}. */
export function guardRequest(runId: string, from: RunStatus, request: RunRequest): boolean {
  const { to, from: allowed, satisfied } = requests[request];
  if (from === to || (satisfied as readonly RunStatus[]).includes(from)) return false;
  if (!(allowed as readonly RunStatus[]).includes(from)) throw invalidTransition(runId, from, to);
  return true;
}

function invalidTransition(runId: string, from: RunStatus, to: RunStatus): AppError {
  return new AppError(
    'refused',
    `The run ${runId} is ${from} and cannot become ${to}.`,
    hasEnded(from) ? 'Start a new run.' : 'Check the run, and try again once its status has changed.',
    { status: 409, wireCode: 'invalid_transition', extra: { from, requested: to } },
  );
}
