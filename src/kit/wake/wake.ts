/**
 * Wakes readers that wait for stored rows. A wake is a hint, never the truth: each waiter also polls from time to time, so that a lost wake costs
 * only time. First user: lanes; second: the work queue's long polls.
 */
export interface Wake {
  /** Something of this topic is durable: call it in `afterCommit`. Cheap, and gathered before it leaves the process. */
  signal(topic: string): void;
  /** Called once for any number of signals that came together, from this process or another. Returns a function that unsubscribes. */
  on(topic: string, listener: () => void): () => void;
  /** Resolves at the next signal of the topic, after `ms`, or when `signal` is aborted; never rejects. */
  wait(topic: string, ms: number, signal?: AbortSignal): Promise<void>;
}
