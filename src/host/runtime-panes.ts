/** The panes of the runtime, and when their host ends with it. */
import type { Log } from '../kit/log/log.ts';
import { programCommand } from '../kit/process/programs.ts';
import { createPaneEngine } from '../runtime-server/panes/create-pane-engine.ts';
import type { PaneEngine } from '../runtime-server/panes/pane-engine.ts';
import type { Closing } from './closing.ts';
import { packageVersion } from './places.ts';
import { paneSettings, type Settings } from './settings.ts';

interface RuntimePanes {
  readonly panes: PaneEngine;
  /** The runtime is up: from now on its host is known to have been asked for. */
  begun(): void;
}

export function createRuntimePanes(deps: {
  readonly home: string;
  readonly settings: Settings['panes'] | undefined;
  readonly log: Log;
  readonly closing: Closing;
}): RuntimePanes {
  const { home, log, closing } = deps;
  const panes = createPaneEngine({
    home,
    command: programCommand('pane-host'),
    build: packageVersion(),
    settings: paneSettings(deps.settings),
    onNotice: (notice) => log.warn(notice),
    onError: (fault) => log.error('A pane listener failed.', { fault }),
  });
  const liveBots = () => panes.list().filter(({ alive }) => alive).length;
  let started = false;
  closing.add('panes', async () => {
    // After a start that failed on the way: the host that was asked for comes up only now, and nobody would ever end it.
    if (!started) await panes.ready();
    // An unreadable host may hold live bots, so it is not touched.
    if (panes.engine().running && liveBots() === 0) {
      await panes.stopHost({ force: false }).catch((fault) => log.warn('The pane host was not stopped.', { fault }));
    }
    await panes.close();
  });
  return {
    panes,
    begun() {
      started = true;
    },
  };
}

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
