/**
 * A computer without a web interface of its own: what `gantry runtime` runs. Its person reaches it through the cloud that it is
 * paired with, and through the CLI.
 */
import { type Clock, systemClock } from '../kit/clock/clock.ts';
import type { DispatcherOptions } from '../kit/http/dispatcher.ts';
import { createIds } from '../kit/ids/ids.ts';
import { createLog } from '../kit/log/log.ts';
import { readPairing } from '../runtime-server/link/pairing-file.ts';
import { createClosing } from './closing.ts';
import { openDataFolder } from './data-folder.ts';
import type { HomeLink } from './home-link.ts';
import { lastWorkspace } from './last-workspace.ts';
import { placesIn } from './places.ts';
import { createRuntime } from './runtime.ts';
import type { Settings } from './settings.ts';

export interface RuntimeAloneOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: Settings;
  /** Absolute path; default the last one used, else a new one with the sample. */
  readonly workspace?: string;
  /** How a person calls Gantry from where they read its messages, such as `npx gantry`. */
  readonly gantry: string;
  readonly clock?: Clock;
  readonly answers?: DispatcherOptions['answers'];
}

export interface RuntimeAlone {
  readonly engineUrl: string;
  readonly home: string;
  readonly workspace: string;
  readonly notices: readonly string[];
  readonly pairing: HomeLink['pairing'];
  /** Bots with a live pane. */
  liveBots(): number;
  /** Everything in reverse order of start, within 5 s; bots live on unless `stopBots`. Idempotent. */
  close(options?: { stopBots?: boolean }): Promise<void>;
}

const closeLimitMs = 5_000;

/** The cloud that the pairing file of this data folder names; null without a usable one. Starts nothing. */
export function pairedCloud(home: string): string | null {
  const found = readPairing(placesIn(home).pairing);
  return found.is === 'pairing' ? found.pairing.cloudUrl : null;
}

/** Fails with `refused` while another instance runs, and with `transport` when a port is taken; nothing is left behind. */
export async function startRuntimeAlone(options: RuntimeAloneOptions): Promise<RuntimeAlone> {
  const { env, settings, gantry, clock = systemClock } = options;
  const places = placesIn(settings.home);
  const ids = createIds(clock);
  const folder = openDataFolder({ places, clock, ids, gantry });
  const log = createLog({ folder: places.logs, name: 'gantry', clock, known: () => [folder.ownerToken] });
  const closing = createClosing({
    limitMs: closeLimitMs,
    onFault: (step, fault) => log.error('Gantry did not close cleanly.', { step, fault }),
  });
  closing.add('data folder', () => folder.release());
  closing.add('log', () => log.close());
  let stopBots = false;
  try {
    const runtime = await createRuntime({
      folder,
      port: settings.enginePort.value,
      peerPort: settings.peerPort.value,
      workspace: lastWorkspace(places, options.workspace),
      env,
      clock,
      ids,
      log,
      limits: { eventStreams: settings.eventStreams.value },
      answers: options.answers,
      models: settings.models,
      homeCloud: () => null,
    });
    closing.add('runtime', () => runtime.close({ stopBots }));
    closing.add('streams', () => runtime.endStreams());
    await runtime.start();
    log.info('The runtime started.', { engine: runtime.url, workspace: runtime.workspace.path });
    return {
      engineUrl: runtime.url,
      home: places.home,
      workspace: runtime.workspace.path,
      notices: runtime.notices,
      pairing: runtime.homeLink.pairing,
      liveBots: () => runtime.liveBots(),
      close(how = {}) {
        stopBots = how.stopBots ?? false;
        return closing.close();
      },
    };
  } catch (error) {
    log.error('The runtime could not start.', { error });
    await closing.close();
    throw error;
  }
}
