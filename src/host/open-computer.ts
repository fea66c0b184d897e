/** Opens a program with a runtime, with a web interface (`gantry start`) or without (`gantry runtime`). */

import { readFileSync } from 'node:fs';
import type { Clock } from '../kit/clock/clock.ts';
import type { DispatcherOptions } from '../kit/http/dispatcher.ts';
import { writePrivateFile } from '../kit/secrets/token-file.ts';
import { type PreparedWorkspace, prepareWorkspace } from '../runtime-server/agents/workspace/prepare-workspace.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { checkRoomForStreams, maxOpenFiles } from './open-files.ts';
import { type Opened, openProgram } from './opening.ts';
import type { Places } from './places.ts';
import { createRuntime, type Runtime, type RuntimeOptions } from './runtime.ts';
import type { Settings } from './settings.ts';

export interface ComputerOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly settings: Settings;
  /** Absolute path; default the last one used, else a new one with the sample. */
  readonly workspace?: string;
  /** How a person calls Gantry from where they read its messages, such as `npx gantry`. */
  readonly gantry: string;
  /** The person agrees to what the workspace says about what may run, if all of it that waits has this hash. */
  readonly trust?: string | undefined;
  readonly clock?: Clock;
  readonly answers?: DispatcherOptions['answers'];
}

export interface Computer {
  readonly engineUrl: string;
  readonly home: string;
  readonly workspace: string;
  /** What a person should read once: a database that was moved aside, for example. */
  readonly notices: readonly string[];
  /** Bots with a live pane. */
  liveBots(): number;
  /** Files that say what may run and wait for their person's yes, and the hash of them all. */
  waiting(): ReturnType<Runtime['waiting']>;
  /** Names of the teams that their person started and did not stop. */
  teamsUp(): Promise<string[]>;
  /** Everything in reverse order of start, within 5 s; bots live on unless `stopBots`. Idempotent. */
  close(options?: { stopBots?: boolean }): Promise<void>;
}

interface OpenedComputer extends Opened<DataFolder> {
  readonly limits: NonNullable<DispatcherOptions['limits']>;
  openRuntime(
    hosted: Pick<RuntimeOptions, 'homeCloud' | 'hostChecks'>,
  ): Promise<{ runtime: Runtime; computer: Computer }>;
}

/** Fails as {@link openProgram}. */
export function openComputer<Started>(
  options: ComputerOptions,
  start: (opened: OpenedComputer) => Promise<Started>,
): Promise<Started> {
  const { env, settings, gantry, answers } = options;
  const program = { home: settings.home, gantry, env, clock: options.clock };
  const logged = {
    name: 'gantry',
    secrets: ({ ownerToken }: DataFolder) => [ownerToken, env.GANTRY_TELNYX_API_KEY ?? ''],
  };
  const limits = { eventStreams: settings.eventStreams.value };
  if (settings.eventStreams.source !== 'default') checkRoomForStreams(limits.eventStreams, maxOpenFiles());
  return openProgram(program, openDataFolder, logged, async (opened) => {
    const { places, closing, ...rest } = opened;
    let stopBots = false;
    async function openRuntime(hosted: Pick<RuntimeOptions, 'homeCloud' | 'hostChecks'>) {
      const runtime = await createRuntime({
        ...rest,
        ...hosted,
        port: settings.enginePort.value,
        peerPort: settings.peerPort.value,
        workspace: lastWorkspace(places, options.workspace),
        env,
        limits,
        answers,
        models: settings.models,
        computerUse: settings.computerUse,
        panes: settings.panes,
        trust: options.trust,
      });
      closing.add('runtime', () => runtime.close({ stopBots }));
      const computer: Computer = {
        engineUrl: runtime.url,
        home: places.home,
        workspace: runtime.workspace.path,
        get notices() {
          return runtime.notices;
        },
        liveBots: () => runtime.liveBots(),
        teamsUp: () => runtime.teamsUp(),
        waiting: () => runtime.waiting(),
        close(how = {}) {
          stopBots = how.stopBots ?? false;
          return closing.close();
        },
      };
      return { runtime, computer };
    }
    const started = await start({ ...opened, limits, openRuntime });
    closing.add('announcement', () => opened.log.info('Gantry is stopping.', { stopBots }));
    return started;
  });
}

/** Chooses the workspace of a start: the requested one, else the last one, and remembers the choice. */
function lastWorkspace(places: Places, asked: string | undefined): () => Promise<PreparedWorkspace> {
  return async () => {
    const workspace = await prepareWorkspace({
      asked: asked ?? null,
      last: readLast(places.lastWorkspace),
      home: places.home,
      from: places.home,
    });
    writePrivateFile(places.lastWorkspace, `${workspace.path}\n`);
    return workspace;
  };
}

function readLast(path: string): string | null {
  try {
    return readFileSync(path, 'utf8').trim() || null;
  } catch {
    return null;
  }
}
