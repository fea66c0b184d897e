/**
 * States of a task and its transitions, as data: the statements of the store take their conditions from here, and a
 * test walks the table. Must not know SQL engines or HTTP.
 */
import { maxBackoffSeconds, type TaskRetry, type TaskStatus } from '../../contracts/work-queue/task.ts';

export type Move = 'lease' | 'giveBack' | 'heartbeat' | 'ack' | 'fail' | 'again' | 'cancel' | 'expire' | 'retry';

/**
 * For each move: the states that allow it, and the state it leads to. `lease` of a held task requires that its lease has ended; `again` is a failure
 * that the task wants retried.
 */
export const moves: Readonly<Record<Move, { readonly from: readonly TaskStatus[]; readonly to: TaskStatus }>> = {
  lease: { from: ['queued', 'leased', 'running'], to: 'leased' },
  giveBack: { from: ['leased'], to: 'queued' },
  heartbeat: { from: ['leased', 'running'], to: 'running' },
  ack: { from: ['leased', 'running'], to: 'succeeded' },
  fail: { from: ['queued', 'leased', 'running'], to: 'failed' },
  again: { from: ['leased', 'running'], to: 'queued' },
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

/**
 * Where a queued task waits. Tasks that name no image, label or key are found by their own indexes (`ready`, and `later` before their time); all others
 * are in `work_line` (`listed`, `listedLater`), so that the former pay nothing for them.
 */
export const waits = { ready: 0, later: 1, listed: 2, listedLater: 3 } as const;
export const isListed = (row: { readonly waits: number }) => row.waits >= waits.listed;

/** A worker that asked for a task within this time counts as polling. */
export const pollingMs = 30_000;

export const defaultAttempts = 5;
const defaultBackoffSeconds = 10;

/** Whether a failure with this code is retried: a code, or its beginning and a `*`. */
export function retries({ on }: TaskRetry, code: string): boolean {
  return on.some((one) => (one.endsWith('*') ? code.startsWith(one.slice(0, -1)) : one === code));
}

/** Before the retry after so many failures, ms: doubled with each. */
export function backoffMs({ backoff_seconds: first = defaultBackoffSeconds }: TaskRetry, failures: number): number {
  return Math.min(maxBackoffSeconds, first * 2 ** Math.min(failures - 1, 20)) * 1000;
}
/** The error of a task whose last attempt ended without a report. */
export const expiredError = {
  code: 'lease_expired',
  message: 'The last attempt expired: its worker sent no heartbeat for 60 seconds.',
} as const;
