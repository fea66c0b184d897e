/**
 * Settings that are saved as they are changed. A change made while another one is being saved is shown at once and saved after it, so that none is
 * lost. What is saved, and where, is the caller's.
 */
import { useRef, useState } from 'react';

export interface Saves<C extends object> {
  /** Changed and not saved yet: shown in place of what the server says. */
  readonly unsaved: Partial<C>;
  /** Why the last one could not be saved; what waited behind it is given up, too. */
  readonly failure: unknown;
  save(change: Partial<C>): void;
}

export function useSaves<C extends object>(send: (change: Partial<C>) => Promise<unknown>): Saves<C> {
  const [unsaved, setUnsaved] = useState<Partial<C>>({});
  const [failure, setFailure] = useState<unknown>(null);
  const waiting = useRef<Partial<C> | null>(null);
  const busy = useRef(false);
  async function sendAll(): Promise<void> {
    busy.current = true;
    try {
      while (waiting.current !== null) {
        const change = waiting.current;
        waiting.current = null;
        await send(change);
      }
    } catch (error) {
      waiting.current = null;
      setFailure(error);
    }
    busy.current = false;
    setUnsaved({});
  }
  return {
    unsaved,
    failure,
    save(change) {
      waiting.current = { ...waiting.current, ...change };
      setUnsaved((old) => ({ ...old, ...change }));
      setFailure(null);
      if (!busy.current) void sendAll();
    },
  };
}
