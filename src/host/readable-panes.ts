/** Waits for the pane host at the start of a runtime. Must not start it. */
import type { PaneEngine } from '../runtime-server/panes/pane-engine.ts';

/** A pane host is up in 0.1–0.3 s; nobody waits longer than this for one that is not. */
const paneHostMs = 3_000;

/** Resolves once the pane host can be read, or after {@link paneHostMs}. */
export function readable(panes: PaneEngine): Promise<void> {
  if (panes.engine().running) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, paneHostMs);
  const stop = panes.listen({
    onEngine: ({ running }) => {
      if (running) resolve();
    },
  });
  return promise.finally(() => {
    clearTimeout(timer);
    stop();
  });
}
