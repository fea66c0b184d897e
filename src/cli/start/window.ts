/** Starts the desktop window if its program is already there and there is a display. Never fetches it, never fails the start. */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Env } from '../connect.ts';
import { findElectron, hasDisplay, overSsh, type Surroundings } from './surroundings.ts';

export interface WindowDeps {
  readonly env: Env;
  readonly place: Surroundings;
  readonly home: string;
  /** The desktop program, as built. */
  readonly entry: string;
  /** A one-time address of its own. */
  address(): Promise<string>;
}

/** Answers whether a window was started; `onClosed` is called when the person closed it. */
export async function openWindow(deps: WindowDeps, onClosed: () => void): Promise<boolean> {
  const { env, place, home, entry } = deps;
  // Electron refuses to run its sandbox as root, and over SSH the window would open at the wrong end.
  if (overSsh(place) || !hasDisplay(place) || place.uid === 0 || !existsSync(entry)) return false;
  const electron = findElectron(env);
  if (electron === null) return false;
  // In the environment, not in the arguments: those are shown to every user of this computer.
  const childEnv = { ...env, GANTRY_HOME: home, GANTRY_WINDOW_ADDRESS: await deps.address() };
  return new Promise((resolve) => {
    const child = spawn(electron, [entry], { stdio: ['ignore', 'ignore', 'inherit'], env: childEnv });
    process.once('exit', () => child.kill('SIGTERM'));
    child.on('error', () => resolve(false));
    child.on('spawn', () => resolve(true));
    child.on('exit', (code) => {
      if (code === 0) onClosed();
    });
  });
}
