/** How long a step was in each state, from its moves. What is still going counts until now. Pure. */
import type { NodeStatus } from '../../contracts/factory/node.ts';
import type { StepTimes } from '../../contracts/factory/workflow.ts';

type Times = Pick<StepTimes, 'workingMs' | 'checkingMs' | 'needsYouMs' | 'waitingMs'>;

/** The time before a step may begin, and after its end, belongs to no step. */
const counted: Partial<Record<NodeStatus, keyof Times>> = {
  working: 'workingMs',
  checking: 'checkingMs',
  needs_you: 'needsYouMs',
  ready: 'waitingMs',
};

/** `moves`: oldest first, their times in ms. */
export function stepTimes(moves: readonly { readonly at: number; readonly status: NodeStatus }[], now: number): Times {
  const times = { workingMs: 0, checkingMs: 0, needsYouMs: 0, waitingMs: 0 };
  for (const [index, { at, status }] of moves.entries()) {
    const kind = counted[status];
    // A clock that was set back takes no time away.
    if (kind !== undefined) times[kind] += Math.max(0, (moves[index + 1]?.at ?? now) - at);
  }
  return times;
}
