/** One act of a person at a time: whether it is under way, and why the last one failed. What it does is the caller's. */
import { useState } from 'react';

export interface Act<A extends readonly unknown[] = []> {
  readonly busy: boolean;
  /** Of the last run; null while another one is under way. */
  readonly failure: unknown;
  /** Does nothing while busy. */
  run(...how: A): void;
}

export function useAct<A extends readonly unknown[]>(act: (...how: A) => Promise<unknown>): Act<A> {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<unknown>(null);
  async function run(...how: A): Promise<void> {
    if (busy) return;
    setBusy(true);
    setFailure(null);
    try {
      await act(...how);
    } catch (error) {
      setFailure(error);
    }
    setBusy(false);
  }
  return { busy, failure, run: (...how) => void run(...how) };
}
