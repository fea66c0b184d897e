/**
 * Whether a person can have seen what a key is about to answer. It has to stand there for a moment: who presses again and again would
 * else answer a question that had only just come. Must not know what is looked at.
 */
import { useCallback, useEffect, useState } from 'react';

/** In less than this nobody reads, ms. */
const lookTime = 700;

export interface Look {
  readonly looked: boolean;
  /** A press came before: the look begins anew, because pressing on is no looking. */
  readonly early: boolean;
  readonly again: () => void;
}

/** `id` null: there is nothing to look at. */
export function useLook(id: string | null): Look {
  const [seen, setSeen] = useState<string | null>(null);
  const [pressed, setPressed] = useState<string | null>(null);
  const [round, setRound] = useState(0);
  const restart = useCallback(() => {
    setSeen(null);
    setRound((count) => count + 1);
  }, []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each round has its own time
  useEffect(() => {
    if (id === null || document.hidden) return;
    const timer = setTimeout(() => setSeen(id), lookTime);
    return () => clearTimeout(timer);
  }, [id, round]);
  useEffect(() => {
    document.addEventListener('visibilitychange', restart);
    return () => document.removeEventListener('visibilitychange', restart);
  }, [restart]);
  const again = useCallback(() => {
    setPressed(id);
    restart();
  }, [id, restart]);
  return { looked: id !== null && seen === id, early: id !== null && pressed === id, again };
}
