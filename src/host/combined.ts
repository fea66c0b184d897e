/**
 * Runtime and cloud API in one process: what `gantry start` runs (architecture.md). The same two parts run apart; here the
 * link between them is this computer's socket.
 */
import type { LocalPairing } from '../contracts/link/local-pairing.ts';
import { type Clock, systemClock } from '../kit/clock/clock.ts';
import type { DispatcherOptions } from '../kit/http/dispatcher.ts';
import { createIds } from '../kit/ids/ids.ts';
import { createLog } from '../kit/log/log.ts';
import { createClosing } from './closing.ts';
import { createCloud } from './cloud.ts';
import { openDataFolder } from './data-folder.ts';
import { openPort } from './doors.ts';
import { lastWorkspace } from './last-workspace.ts';
import { placesIn } from './places.ts';
import { readPushSettings } from './push-settings.ts';
import { createRuntime } from './runtime.ts';
import type { Settings } from './settings.ts';
import { userName } from './user-name.ts';

export interface CombinedOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: Settings;
  /** Absolute path; default the last one used, else a new one with the sample. */
  readonly workspace?: string;
  /** How a person calls Gantry from where they read its messages, such as `npx gantry`. */
  readonly gantry: string;
  readonly clock?: Clock;
  readonly rendererFolder?: string;
  readonly answers?: DispatcherOptions['answers'];
}

export interface Combined {
  /** Address of the web interface, `http://127.0.0.1:<port>`. */
  readonly origin: string;
  readonly engineUrl: string;
  readonly engineSocket: string;
  readonly home: string;
  readonly workspace: string;
  /** True when the workspace was made just now, with the sample in it. */
  readonly workspaceCreated: boolean;
  /** What a person should read once: a database that was moved aside, for example. */
  readonly notices: readonly string[];
  openUrl(next?: string): Promise<{ url: string; expiresAt: string }>;
  /** How this computer stands with a cloud. */
  pairing(): LocalPairing;
  /** Reads the pairing file at once, not only within half a minute. */
  checkPairing(): Promise<void>;
  /** Bots with a live pane. */
  liveBots(): number;
  /** Everything in reverse order of start, within 5 s; bots live on unless `stopBots`. Idempotent. */
  close(options?: { stopBots?: boolean }): Promise<void>;
}

const closeLimitMs = 5_000;

/** Fails with `refused` while another instance runs, and with `transport` when a port is taken; nothing is left behind. */
export async function startCombined(options: CombinedOptions): Promise<Combined> {
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
    // Both ports before anything else: a taken one must not leave half a start behind.
    const door = await openPort(settings.port.value, '--port');
    closing.add('web port', () => door.close());
    const origin = `http://127.0.0.1:${door.port}`;
    const limits = { eventStreams: settings.eventStreams.value };
    const runtime = await createRuntime({
      folder,
      port: settings.enginePort.value,
      peerPort: settings.peerPort.value,
      workspace: lastWorkspace(places, options.workspace),
      env,
      clock,
      ids,
      log,
      limits,
      answers: options.answers,
      models: settings.models,
      homeCloud: () => ({ host: '127.0.0.1', port: door.port }),
      hostChecks: () => [
        sealedBy(places.masterKey),
        listening('Web interface', origin),
        listening('Factory engine', runtime.url),
      ],
    });
    closing.add('runtime', () => runtime.close({ stopBots }));
    const cloud = await createCloud({
      databaseFile: places.cloudDb,
      door,
      openLink: () => ({ link: runtime.link, close() {} }),
      masterKey: folder.masterKey,
      internalToken: folder.internalToken,
      mode: {
        kind: 'embedded',
        ownerToken: folder.ownerToken,
        device: runtime.device,
        computer: folder.computer,
        userName: userName(),
        pairing: runtime.homeLink.routes,
        home: runtime.homeLink.door,
      },
      clock,
      ids,
      log,
      gantry,
      rendererFolder: options.rendererFolder,
      limits,
      answers: options.answers,
      push: readPushSettings(env),
    });
    closing.add('cloud', () => cloud.close());
    closing.add('streams', () => runtime.endStreams());
    closing.add('announcement', () => log.info('Gantry stops.', { stopBots }));
    await runtime.start();
    const { workspace } = runtime;
    folder.announce(origin);
    log.info('Gantry started.', { origin, engine: runtime.url, workspace: workspace.path });

    return {
      origin,
      engineUrl: runtime.url,
      engineSocket: places.engineSocket,
      home: places.home,
      workspace: workspace.path,
      workspaceCreated: workspace.created,
      notices: [...runtime.notices, ...cloud.notices],
      openUrl: (next) => cloud.openUrl(next),
      pairing: () => runtime.homeLink.pairing.status(),
      checkPairing: () => runtime.homeLink.pairing.readFile(),
      liveBots: () => runtime.liveBots(),
      close(how = {}) {
        stopBots = how.stopBots ?? false;
        return closing.close();
      },
    };
  } catch (error) {
    log.error('Gantry could not start.', { error });
    await closing.close();
    throw error;
  }
}

function sealedBy(file: string) {
  const detail = `Secrets are sealed with the key in ${file}, which only you can read. Back it up apart from the data.`;
  return { name: 'Master key', group: 'secret', state: 'ok', version: null, detail, fix: null } as const;
}

function listening(name: string, address: string) {
  return { name, group: 'port', state: 'ok', version: null, detail: `Listens on ${address}.`, fix: null } as const;
}
