/**
 * The Gantry of a desktop program: its own runtime and cloud API in this process, or the one that runs already for the same data
 * folder (docs/adr/0003). Must not know windows.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { AppError } from '../contracts/common/errors.ts';
import { nodeProgram } from '../kit/process/programs.ts';
import { readTokenFile } from '../kit/secrets/token-file.ts';
import { type Combined, startCombined } from './combined.ts';
import { dataFolder, packageRoot, placesIn } from './places.ts';
import { findRunning, type Running } from './running.ts';
import { readSettings, type Settings } from './settings.ts';
import { type Watchdog, watchOver } from './watchdog.ts';

export interface DesktopGantry {
  /** `attached`: another process owns the servers and continues without this one. */
  readonly kind: 'own' | 'attached';
  readonly origin: string;
  /** What a person should read once. */
  readonly notices: readonly string[];
  /** A one-time address. */
  openUrl(): Promise<string>;
  /** The computer goes to sleep, or is back. */
  rest(asleep: boolean): void;
  /** The same close as headless: within 5 s, bots live on. */
  close(): Promise<void>;
}

interface DesktopOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly fetch?: typeof fetch;
  /** The command that starts the desktop program again if its loop stands; absent: nobody watches. */
  readonly again?: readonly string[];
  /** How often, and how many times, another one that is still starting is asked for its address. */
  readonly waits?: { readonly ms: number; readonly times: number };
}

const OpenCode = z.object({ url: z.string() });
const waiting = { ms: 250, times: 80 };

/** Fails as `startCombined`; with `refused` where what runs has no pages to show. */
export async function openDesktop(options: DesktopOptions): Promise<DesktopGantry> {
  const { env } = options;
  try {
    const { combined, notices } = await startOwn(env, readSettings(env));
    const watchdog = watchdogOf(options);
    return {
      kind: 'own',
      origin: combined.origin,
      notices: [...notices, ...combined.notices],
      openUrl: async () => (await combined.openUrl()).url,
      rest(asleep) {
        watchdog?.rest(asleep);
        combined.rest(asleep);
      },
      close() {
        watchdog?.end();
        return combined.close();
      },
    };
  } catch (error) {
    const refused = error instanceof AppError && error.code === 'refused';
    const running = refused ? await addressed(options) : null;
    if (running === null) throw error;
    return attach(running, options);
  }
}

function watchdogOf({ env, again }: DesktopOptions): Watchdog | null {
  return again === undefined ? null : watchOver({ beat: placesIn(dataFolder(env)).beat, env, again });
}

/** An app started from a menu has no command line to choose a port: one that the person did not choose may be any. */
async function startOwn(
  env: DesktopOptions['env'],
  settings: Settings,
): Promise<{ combined: Combined; notices: readonly string[] }> {
  const start = (chosen: Settings) => startCombined({ env, settings: chosen, gantry: commandOf(packageRoot()) });
  try {
    return { combined: await start(settings), notices: [] };
  } catch (error) {
    const others = withOtherPorts(settings);
    if (!isTaken(error) || others === null) throw error;
    const combined = await start(others);
    return { combined, notices: [`${(error as AppError).fact} Gantry uses other ports this time.`] };
  }
}

function isTaken(error: unknown): boolean {
  const cause = error instanceof AppError ? error.options.cause : null;
  return (cause as NodeJS.ErrnoException | null | undefined)?.code === 'EADDRINUSE';
}

/** Any free port in place of those that nobody chose; null where all were chosen. */
export function withOtherPorts(settings: Settings): Settings | null {
  const any = { value: 0, source: 'default' } as const;
  const { port, enginePort } = settings;
  if (port.source !== 'default' && enginePort.source !== 'default') return null;
  return {
    ...settings,
    port: port.source === 'default' ? any : port,
    enginePort: enginePort.source === 'default' ? any : enginePort,
  };
}

/** One that is starting has no address yet; null when nobody holds the folder any more. */
async function addressed({ env, waits = waiting }: DesktopOptions): Promise<Running | null> {
  for (let left = waits.times; ; left -= 1) {
    const running = findRunning(env);
    if (running === null || running.address !== null || left === 0) return running;
    await pause(waits.ms);
  }
}

function attach({ pid, address, listens }: Running, { env, fetch: ask = fetch }: DesktopOptions): DesktopGantry {
  const home = dataFolder(env);
  if (address === null || listens !== undefined) {
    throw new AppError(
      'refused',
      `${listens === undefined ? 'A runtime without pages' : 'A multi-user cloud'} (process ${pid}) is already running in ${home}.`,
      'Open the address of its cloud in a browser, or set GANTRY_HOME to another folder and start the app again.',
    );
  }
  return {
    kind: 'attached',
    origin: address,
    notices: [],
    rest() {},
    close: async () => {},
    // The address stands in a private file that only the process with the folder's lock writes: the token goes to nobody else.
    async openUrl() {
      const answer = await ask(`${address}/api/v1/open-codes`, {
        method: 'POST',
        headers: { authorization: `Bearer ${readTokenFile(placesIn(home).token)}`, 'content-type': 'application/json' },
        body: '{}',
        redirect: 'error',
      });
      const code = OpenCode.safeParse(await answer.json().catch(() => null)).data;
      if (code !== undefined) return code.url;
      throw new AppError(
        'transport',
        `The Gantry at ${address} (process ${pid}) refused the sign-in (status ${answer.status}).`,
        'Stop it, then start the app again.',
      );
    },
  };
}

/** Inside an installed app the command has no separate name. */
function commandOf(root: string): string {
  return root.endsWith('app.asar.unpacked') ? `"${nodeProgram()}" "${root}/scripts/gantry.mjs"` : 'gantry';
}
