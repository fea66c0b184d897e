/** Waits for the answer to an approval, on whichever surface and in whichever process it is given. */
import type { Approval } from '../../contracts/approvals/approval.ts';
import { maxHeldSeconds, type Waited } from '../../contracts/common/waiting.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { createLongPolls, outcomeOf, statesOf } from '../../kit/http/long-polls.ts';
import type { Principal } from '../../kit/http/types.ts';
import type { ApprovalService } from './service.ts';

interface ApprovalWaits {
  wait(wish: {
    readonly principal: Principal;
    readonly id: string;
    readonly states: string | undefined;
    readonly seconds: number | undefined;
    readonly signal: AbortSignal;
  }): Promise<Waited>;
  close(): void;
}

const states = ['pending', 'approved', 'rejected', 'withdrawn', 'expired'] as const;
const words = { approve: 'approved', reject: 'rejected' } as const;

export function createApprovalWaits(deps: {
  readonly service: Pick<ApprovalService, 'get' | 'onEvent'>;
  readonly timers: Timers;
}): ApprovalWaits {
  const { service, timers } = deps;
  const polls = createLongPolls({ timers });
  const keyOf = (userId: string, id: string) => `${userId} ${id}`;
  return {
    close: service.onEvent(({ userId, data }) => polls.changed(keyOf(userId, data.data.id))),
    async wait({ principal, id, states: given, seconds = maxHeldSeconds, signal }) {
      const { userId } = principal;
      const wanted = statesOf(given, 'approval', states, ['approved']);
      const outcome = (approval: Approval) => {
        const state = stateOf(approval);
        return outcomeOf(state, wanted, state !== 'pending');
      };
      const { remainingMs = 0 } = await service.get(id, userId);
      const approval = await polls.poll({
        principal,
        key: keyOf(userId, id),
        // Nobody reports that a question has expired.
        ms: Math.min(seconds * 1000, remainingMs + 1),
        signal,
        read: () => service.get(id, userId),
        done: (value) => outcome(value) !== 'waiting',
      });
      const { title, note } = approval;
      return {
        kind: 'approval',
        id,
        title,
        state: stateOf(approval),
        cause: null,
        reason: note,
        outcome: outcome(approval),
      };
    },
  };
}

function stateOf({ state, decision, remainingMs }: Approval): (typeof states)[number] {
  if (state === 'pending') return remainingMs === 0 ? 'expired' : 'pending';
  return decision === null ? 'withdrawn' : words[decision];
}
