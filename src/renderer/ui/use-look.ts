/**
 * Whether a person can have seen what they are about to answer. It has to stand before them for a moment: who presses again and again
 * would else answer a question that had only just come. Must not know what is looked at.
 */
import { type RefObject, useCallback, useEffect, useRef, useState } from 'react';

/** In less than this nobody reads, ms. */
const lookTime = 700;
/** A card that a pointer chose was looked at before. ms. */
const pointedTime = 1000;

interface Look {
  readonly looked: boolean;
  /** A press came too early. The time starts over: pressing again is not reading. */
  readonly early: boolean;
  again(): void;
  /** A pointer went down on it: to be chosen by that is no new look. */
  pointed(): void;
}

/** `selected`: keys act on it. The time starts over when a key, or the answer to another one, selects it. */
export function useLook(element: RefObject<HTMLElement | null>, selected: boolean): Look {
  const [looked, setLooked] = useState(false);
  const [early, setEarly] = useState(false);
  const [round, setRound] = useState(0);
  const pointedAt = useRef(Number.NEGATIVE_INFINITY);
  const restart = useCallback(() => {
    setLooked(false);
    setRound((count) => count + 1);
  }, []);
  const wasSelected = useRef(selected);
  useEffect(() => {
    if (selected && !wasSelected.current && performance.now() - pointedAt.current > pointedTime) restart();
    wasSelected.current = selected;
  }, [selected, restart]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: each round has its own time
  useEffect(() => {
    const shown = element.current;
    if (shown === null || document.hidden) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const observer = new IntersectionObserver(
      ([entry]) => {
        clearTimeout(timer);
        if (entry !== undefined && isInView(entry)) timer = setTimeout(() => setLooked(true), lookTime);
        else setLooked(false);
      },
      { threshold: steps },
    );
    observer.observe(shown);
    return () => {
      observer.disconnect();
      clearTimeout(timer);
    };
  }, [element, round]);
  useEffect(() => {
    document.addEventListener('visibilitychange', restart);
    return () => document.removeEventListener('visibilitychange', restart);
  }, [restart]);
  return {
    looked,
    early,
    again: useCallback(() => {
      element.current?.scrollIntoView({ block: 'nearest' });
      setEarly(true);
      restart();
    }, [element, restart]),
    pointed: useCallback(() => {
      pointedAt.current = performance.now();
    }, []),
  };
}

const steps = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/** Whether most of it, or of the window, is that. */
function isInView({ boundingClientRect, intersectionRect, rootBounds }: IntersectionObserverEntry): boolean {
  const window = rootBounds?.height ?? Number.POSITIVE_INFINITY;
  return intersectionRect.height >= Math.min(boundingClientRect.height, window) / 2 && intersectionRect.height > 0;
}
