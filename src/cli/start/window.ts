/**
 * Starts the desktop program if it is already there and there is a display: it finds these servers by their data folder and attaches
 * (docs/adr/0003). Never fetches it, never fails the start.
 */
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import type { Env } from '../connect.ts';
import { findElectron, hasDisplay, overSsh, type Surroundings } from './surroundings.ts';

interface WindowDeps {
  readonly env: Env;
  readonly place: Surroundings;
  readonly home: string;
  /** The desktop program, as built. */
  readonly entry: string;
}

/** Answers whether a window was started; `onClosed` is called when the person closed it. */
export async function openWindow(deps: WindowDeps, onClosed: () => void): Promise<boolean> {
  const { env, place, home, entry } = deps;
  // Electron refuses to run its sandbox as root, and over SSH the window would open at the wrong end.
  if (overSsh(place) || !hasDisplay(place) || place.uid === 0 || !existsSync(entry)) return false;
  const electron = findElectron(env);
  if (electron === null) return false;
  // Should it start servers itself later, their programs run on this Node.
  const childEnv = { ...env, GANTRY_HOME: home, GANTRY_NODE: process.execPath };
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
