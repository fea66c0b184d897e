/** The names by which page and desktop program call each other. No schemas here: the sandboxed preload script imports this file. */
export const desktopChannels = {
  read: 'desktop:read',
  change: 'desktop:change',
  act: 'desktop:act',
  /** From main to the page. */
  say: 'desktop:say',
} as const;
