/** Messages between a worker and its heartbeat thread. */

export interface BeatSettings {
  readonly url: string;
  readonly key: string;
  readonly workerId: string;
}

export type ToBeats =
  | {
      readonly kind: 'hold';
      readonly taskId: string;
      readonly leaseId: string;
      readonly ttlMs: number;
      /** When the lease was asked for, on the clock that both threads share: `performance.timeOrigin + performance.now()`. */
      readonly askedAt: number;
    }
  | { readonly kind: 'letGo'; readonly leaseId: string };

export type FromBeats =
  | { readonly kind: 'stop'; readonly leaseId: string }
  | { readonly kind: 'lost'; readonly leaseId: string; readonly why: string };

/** Of both threads of a process: where each began to count, and how far it is. */
export const sharedNow = () => performance.timeOrigin + performance.now();
