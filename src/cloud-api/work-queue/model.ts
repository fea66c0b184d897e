/**
 * States of a task and its transitions, as data: the statements of the store take their conditions from here, and a
 * test walks the table. Must not know SQL engines or HTTP.
 */
import type { TaskStatus } from '../../contracts/work-queue/task.ts';

export type Move = 'lease' | 'giveBack' | 'heartbeat' | 'ack' | 'fail' | 'cancel' | 'expire' | 'retry';

/** For each move: the states that allow it, and the state it leads to. `lease` of a held task requires that its lease has ended. */
export const moves: Readonly<Record<Move, { readonly from: readonly TaskStatus[]; readonly to: TaskStatus }>> = {
  lease: { from: ['queued', 'leased', 'running'], to: 'leased' },
  giveBack: { from: ['leased'], to: 'queued' },
  heartbeat: { from: ['leased', 'running'], to: 'running' },
  ack: { from: ['leased', 'running'], to: 'succeeded' },
  fail: { from: ['queued', 'leased', 'running'], to: 'failed' },
  cancel: { from: ['queued', 'leased', 'running'], to: 'cancelled' },
  expire: { from: ['leased', 'running'], to: 'failed' },
  retry: { from: ['failed', 'cancelled'], to: 'queued' },
};

export const held: readonly TaskStatus[] = ['leased', 'running'];
const ended: readonly TaskStatus[] = ['succeeded', 'failed', 'cancelled'];

export const isEnded = (status: TaskStatus) => ended.includes(status);

/** The guard of a move as SQL text; its words are constants of ours. */
export function openFor(move: Move): string {
  return statusIn(moves[move].from);
}

export function statusIn(statuses: readonly TaskStatus[]): string {
  return `status IN (${statuses.map((status) => `'${status}'`).join(', ')})`;
}

export const defaultAttempts = 5;
/** The error of a task whose last attempt ended without a report. */
export const expiredError = {
  code: 'lease_expired',
  message: 'The last attempt expired: its worker sent no heartbeat for 60 seconds.',
} as const;
