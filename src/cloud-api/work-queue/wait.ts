/** Waits for the status of a task, in whichever process it changes: one reader of changes for each person of whom somebody waits. */
import { maxHeldSeconds, type Waited } from '../../contracts/common/waiting.ts';
import { taskStatuses } from '../../contracts/work-queue/task.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { createLongPolls, type Facts, statesOf, type WaitWish, waitForState } from '../../kit/http/long-polls.ts';
import type { Changes } from './changes.ts';
import { isEnded } from './model.ts';
import { type TaskRow, wireTask } from './rows.ts';

export interface TaskWaits {
  wait(wish: WaitWish): Promise<Waited>;
}

export function createTaskWaits(deps: {
  /** `not_found` for a task that this person does not have. */
  readonly find: (userId: string, id: string) => Promise<TaskRow>;
  readonly changes: Pick<Changes, 'follow'>;
  readonly timers: Timers;
}): TaskWaits {
  const polls = createLongPolls(deps);
  const followed = new Map<string, { waits: number; readonly stop: () => void }>();
  const keyOf = (userId: string, id: string) => `${userId} ${id}`;

  /** Answers a function that ends it: the last of a person ends their reader. */
  function follow(userId: string): () => void {
    const entry = followed.get(userId) ?? {
      waits: 0,
      stop: deps.changes.follow(userId, null, {
        tell: ({ id }) => {
          polls.changed(keyOf(userId, id));
          return true;
        },
        drained: async () => {},
      }),
    };
    entry.waits += 1;
    followed.set(userId, entry);
    return () => {
      entry.waits -= 1;
      if (entry.waits > 0) return;
      followed.delete(userId);
      entry.stop();
    };
  }

  return {
    async wait({ principal, id, states, seconds = maxHeldSeconds, signal }) {
      const { userId } = principal;
      const wanted = statesOf(states, 'task', taskStatuses, ['succeeded']);
      const poll = {
        principal,
        key: keyOf(userId, id),
        signal,
        read: async () => factsOf(await deps.find(userId, id)),
      };
      const first = await waitForState(polls, wanted, { ...poll, ms: 0 });
      if (first.outcome !== 'waiting' || seconds === 0) return first;
      const end = follow(userId);
      try {
        return await waitForState(polls, wanted, { ...poll, ms: seconds * 1000 });
      } finally {
        end();
      }
    },
  };
}

function factsOf(row: TaskRow): Facts {
  const { id, status, error } = wireTask(row);
  return {
    kind: 'task',
    id,
    title: id,
    state: status,
    cause: error?.code ?? null,
    reason: error?.message ?? null,
    ended: isEnded(status),
  };
}
