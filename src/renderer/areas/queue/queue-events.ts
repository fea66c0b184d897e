/**
 * Keeps the shown parts of the work queue current while somebody looks: each change of a task at once in the rows that show it, followed by one read
 * after a short delay, however many changes there were. Must not know how any of it is shown.
 */
import type { QueryClient } from '@tanstack/react-query';
import type { z } from 'zod';
import { type listTasks, streamTasks } from '../../../contracts/work-queue/routes.ts';
import type { Task, TaskStatus } from '../../../contracts/work-queue/task.ts';
import type { Slot, StreamSlots } from '../../base/data/stream-slots.ts';
import type { QueueApi } from './api.ts';
import { queueKeys } from './queries.ts';

type Page = z.output<(typeof listTasks)['answers'][200]>;

/** Changes are gathered for so long before anything is read again, ms. */
export const gatherMs = 400;
/** After reading it rests, so many times as long: counting a million tasks is work for the server, one page of them is little. */
const rests = { rows: 3, figures: 9 } as const;
/** No event reports who asks for tasks or which tasks grow old, so both are polled; ms. */
const figuresEveryMs = 5_000;
/** Polling interval of a window without its own stream, ms. */
const readEveryMs = 3_000;

interface QueueEvents {
  /** Follows until the returned function is called. */
  watch(): () => void;
  /** What is shown may have changed: after something was done here. */
  touch(): void;
}

interface QueueEventsDeps {
  readonly queue: Pick<QueueApi, 'streamTasks'>;
  readonly client: QueryClient;
  readonly slots: StreamSlots;
}

export function createQueueEvents(
  { queue, client, slots }: QueueEventsDeps,
  now: () => number = Date.now,
): QueueEvents {
  let watchers = 0;
  /** Grows with each start and stop, so that work of an earlier one ends. */
  let turn = 0;
  let end = () => {};
  let ticking: ReturnType<typeof setInterval> | undefined;
  const rows = createReader(() => client.invalidateQueries({ queryKey: queueKeys.tasks }), rests.rows, now);
  const figures = createReader(() => client.invalidateQueries({ queryKey: queueKeys.figures }), rests.figures, now);

  function touch(): void {
    rows.touch();
    figures.touch();
  }

  function patch(id: string, status: TaskStatus): void {
    const change = (task: Task): Task => (task.id === id && task.status !== status ? { ...task, status } : task);
    client.setQueriesData<Page>({ queryKey: queueKeys.pages }, (page) => {
      if (page === undefined || !page.tasks.some((task) => change(task) !== task)) return page;
      return { ...page, tasks: page.tasks.map(change) };
    });
  }

  function open(slot: Slot): () => void {
    const stream = queue.streamTasks(
      {},
      {
        idsRepeat: true,
        onEvent(message) {
          if (message.event === 'reset') return touch();
          const change = streamTasks.events.task.safeParse(message.data);
          if (!change.success) return;
          patch(change.data.id, change.data.status);
          touch();
        },
        onState(state) {
          // What happened before it was open, or while it was away.
          if (state.kind === 'open') touch();
        },
      },
    );
    return () => {
      stream.close();
      slot.release();
    };
  }

  async function begin(mine: number): Promise<void> {
    const slot = await slots.take(false, () => {});
    if (mine !== turn) return slot?.release();
    if (slot !== null) {
      end = open(slot);
      return;
    }
    if (!document.hidden) touch();
    const timer = setTimeout(() => void begin(mine), readEveryMs);
    end = () => clearTimeout(timer);
  }

  return {
    touch,
    watch() {
      watchers += 1;
      if (watchers === 1) {
        turn += 1;
        ticking = setInterval(() => {
          if (!document.hidden) figures.touch();
        }, figuresEveryMs);
        void begin(turn);
      }
      return () => {
        watchers -= 1;
        if (watchers > 0) return;
        turn += 1;
        clearInterval(ticking);
        end();
        end = () => {};
      };
    },
  };
}

/** Reads a little after it is touched, once however often that was, and then rests: a slow answer is not asked for all the time. */
function createReader(read: () => Promise<void>, restPerReading: number, now: () => number): { touch(): void } {
  let state: 'idle' | 'gathering' | 'reading' = 'idle';
  let again = false;

  function touch(): void {
    again = true;
    if (state !== 'idle') return;
    state = 'gathering';
    setTimeout(() => void run(), gatherMs);
  }

  async function run(): Promise<void> {
    state = 'reading';
    again = false;
    const began = now();
    await read();
    const rest = (now() - began) * restPerReading - gatherMs;
    setTimeout(
      () => {
        state = 'idle';
        if (again) touch();
      },
      Math.max(0, rest),
    );
  }

  return { touch };
}
