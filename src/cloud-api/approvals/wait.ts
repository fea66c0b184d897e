/** Waits for the answer to an approval, on whichever surface and in whichever process it is given. */
import type { Approval } from '../../contracts/approvals/approval.ts';
import { maxHeldSeconds, type Waited } from '../../contracts/common/waiting.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { createLongPolls, type Facts, statesOf, type WaitWish, waitForState } from '../../kit/http/long-polls.ts';
import type { ApprovalService } from './service.ts';

const states = ['pending', 'approved', 'rejected', 'withdrawn', 'expired'] as const;
const words = { approve: 'approved', reject: 'rejected' } as const;

export function createApprovalWaits(deps: {
  readonly service: Pick<ApprovalService, 'get' | 'onEvent'>;
  readonly timers: Timers;
}) {
  const { service, timers } = deps;
  const polls = createLongPolls({ timers });
  const keyOf = (userId: string, id: string) => `${userId} ${id}`;
  return {
    close: service.onEvent(({ userId, data }) => polls.changed(keyOf(userId, data.data.id))),
    async wait({ principal, id, states: given, seconds = maxHeldSeconds, signal }: WaitWish): Promise<Waited> {
      const { userId } = principal;
      const wanted = statesOf(given, 'approval', states, ['approved']);
      const { remainingMs = 0 } = await service.get(id, userId);
      return waitForState(polls, wanted, {
        principal,
        key: keyOf(userId, id),
        // Nobody reports that a question has expired.
        ms: Math.min(seconds * 1000, remainingMs + 1),
        signal,
        read: async () => factsOf(await service.get(id, userId)),
      });
    },
  };
}

function factsOf(approval: Approval): Facts {
  const { id, title, note } = approval;
  const state = stateOf(approval);
  return { kind: 'approval', id, title, state, cause: null, reason: note, ended: state !== 'pending' };
}

function stateOf({ state, decision, remainingMs }: Approval): (typeof states)[number] {
  if (state === 'pending') return remainingMs === 0 ? 'expired' : 'pending';
  return decision === null ? 'withdrawn' : words[decision];
}
