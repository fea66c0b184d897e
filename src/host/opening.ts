/**
 * Opens a program of the host: its data folder with the lock, its log, and one close of everything in reverse order, also when the start fails. Must
 * not know what the program serves.
 */
import { type Clock, systemClock } from '../kit/clock/clock.ts';
import { createIds, type Ids } from '../kit/ids/ids.ts';
import { createLog, type Log } from '../kit/log/log.ts';
import { openTelemetry, type Telemetry } from '../kit/telemetry/telemetry.ts';
import { type Closing, createClosing } from './closing.ts';
import type { CloudFolder, DataFolderDeps } from './data-folder.ts';
import { type Places, packageVersion, placesIn } from './places.ts';

export interface Opened<Folder extends CloudFolder> {
  readonly places: Places;
  readonly folder: Folder;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly telemetry: Telemetry;
  readonly closing: Closing;
}

const closeLimitMs = 5_000;

/** Fails with `refused` while another instance runs, and with what `start` fails with; nothing is left behind. */
export async function openProgram<Folder extends CloudFolder, Started>(
  {
    home,
    gantry,
    env,
    clock = systemClock,
  }: {
    home: string;
    gantry: string;
    env: Readonly<Record<string, string | undefined>>;
    clock?: Clock | undefined;
  },
  openFolder: (deps: DataFolderDeps) => Folder,
  logged: { readonly name: string; secrets(folder: Folder): readonly string[] },
  start: (opened: Opened<Folder>) => Promise<Started>,
): Promise<Started> {
  const places = placesIn(home);
  const ids = createIds(clock);
  // First: it refuses an invalid address, and nothing may be open then.
  const telemetry = await openTelemetry(env, { name: logged.name, version: packageVersion() });
  const folder = openFolder({ places, clock, ids, gantry });
  const known = logged.secrets(folder);
  const log = createLog({ folder: places.logs, name: logged.name, clock, known: () => known, trace: telemetry.ids });
  const closing = createClosing({
    limitMs: closeLimitMs,
    onFault: (step, fault) => log.error('Gantry did not close cleanly.', { step, fault }),
  });
  closing.add('data folder', () => folder.release());
  closing.add('log', () => log.close());
  closing.add('telemetry', () => telemetry.close());
  try {
    return await start({ places, folder, clock, ids, log, telemetry, closing });
  } catch (error) {
    log.error('Gantry could not start.', { error });
    await closing.close();
    throw error;
  }
}
