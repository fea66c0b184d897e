/** What the window is: narrow enough for one stack with a bar below (below 640 px), too narrow for the inspector, or touched with fingers. */
import { useSyncExternalStore } from 'react';

function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia(query);
      media.addEventListener('change', listener);
      return () => media.removeEventListener('change', listener);
    },
    () => window.matchMedia(query).matches,
  );
}

export const useNarrow = (): boolean => useMedia('(max-width: 639px)');
/** Below this the inspector lies over the main part instead of beside it. */
export const useTight = (): boolean => useMedia('(max-width: 1099px)');
/** Fingers need rows of 44 px; what has its height from a style sheet says `pointer-coarse:` instead. */
export const useTouch = (): boolean => useMedia('(pointer: coarse)');
/** From here the rail has room for words. */
export const useRoomy = (): boolean => useMedia('(min-width: 1200px)');
