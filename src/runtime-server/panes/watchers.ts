/**
 * The viewers of each pane. All viewers of a pane share one stream from the host; each gets the newest screen when its last one has left, and never
 * a line of old ones.
 */
import type { Screen } from '../../contracts/factory/agent.ts';
import type { PaneWatcher } from './pane-engine.ts';

interface Watchers {
  /** `start` is true for a pane's first viewer. */
  add(pane: string, watcher: PaneWatcher): { start: boolean; remove(): { stop: boolean } };
  panes(): string[];
  screen(pane: string, screen: Screen): void;
  gone(pane: string, reason: string): void;
}

interface Viewer {
  readonly watcher: PaneWatcher;
  busy: boolean;
  next: Screen | null;
}

interface Watched {
  readonly viewers: Set<Viewer>;
  last: Screen | null;
}

export function createWatchers(onError: (error: unknown) => void): Watchers {
  const watched = new Map<string, Watched>();

  async function give(viewer: Viewer, screen: Screen): Promise<void> {
    if (viewer.busy) {
      viewer.next = screen;
      return;
    }
    viewer.busy = true;
    try {
      await viewer.watcher.onScreen(screen);
    } catch (error) {
      onError(error);
    }
    viewer.busy = false;
    const { next } = viewer;
    viewer.next = null;
    if (next) void give(viewer, next);
  }

  return {
    add(pane, watcher) {
      const known = watched.get(pane);
      const entry = known ?? { viewers: new Set<Viewer>(), last: null };
      watched.set(pane, entry);
      const viewer: Viewer = { watcher, busy: false, next: null };
      entry.viewers.add(viewer);
      if (entry.last) void give(viewer, entry.last);
      return {
        start: !known,
        remove() {
          viewer.next = null;
          if (!entry.viewers.delete(viewer) || entry.viewers.size > 0 || watched.get(pane) !== entry)
            return { stop: false };
          watched.delete(pane);
          return { stop: true };
        },
      };
    },
    panes: () => [...watched.keys()],
    screen(pane, screen) {
      const entry = watched.get(pane);
      if (!entry) return;
      entry.last = screen;
      for (const viewer of entry.viewers) void give(viewer, screen);
    },
    gone(pane, reason) {
      const entry = watched.get(pane);
      watched.delete(pane);
      for (const viewer of entry?.viewers ?? []) viewer.watcher.onGone(reason);
    },
  };
}
