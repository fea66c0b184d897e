/** Puts the theme onto the document, and says which scheme it came to. `system` follows the computer, also while open. */
import { useLayoutEffect, useSyncExternalStore } from 'react';
import { useSettings } from './services.tsx';

const darkQuery = '(prefers-color-scheme: dark)';

function subscribe(listener: () => void): () => void {
  const media = window.matchMedia(darkQuery);
  media.addEventListener('change', listener);
  return () => media.removeEventListener('change', listener);
}

export function useScheme(): 'dark' | 'light' {
  const { theme } = useSettings();
  const systemDark = useSyncExternalStore(subscribe, () => window.matchMedia(darkQuery).matches);
  if (theme === 'system') return systemDark ? 'dark' : 'light';
  return theme;
}

export function useTheme(): 'dark' | 'light' {
  const scheme = useScheme();
  useLayoutEffect(() => {
    document.documentElement.dataset.theme = scheme;
  }, [scheme]);
  return scheme;
}
