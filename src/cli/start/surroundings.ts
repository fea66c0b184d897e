/**
 * What `gantry start` can open where it runs: a browser, a desktop window, or only a terminal behind SSH. Looks at files and variables; starts
 * nothing and never imports electron, because the import begins a download.
 */
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { hostname } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { userName } from '../../host/user-name.ts';
import type { Env } from '../connect.ts';

export interface Surroundings {
  readonly env: Env;
  readonly platform: NodeJS.Platform;
  /** 0 for root; null where there are no such ids. */
  readonly uid: number | null;
}

export function hereAndNow(env: Env): Surroundings {
  return { env, platform: process.platform, uid: process.getuid?.() ?? null };
}

export function overSsh({ env }: Surroundings): boolean {
  return (env.SSH_CONNECTION ?? '') !== '' || (env.SSH_TTY ?? '') !== '';
}

export function hasDisplay({ env, platform }: Surroundings): boolean {
  if (platform === 'darwin' || platform === 'win32') return (env.SSH_CONNECTION ?? '') === '';
  return (env.DISPLAY ?? '') !== '' || (env.WAYLAND_DISPLAY ?? '') !== '';
}

/** The command that opens an address in the person's browser, or the reason why none is available. */
export function browserCommand(place: Surroundings): { command: readonly string[] } | { none: string } {
  if (overSsh(place)) return { none: 'this is an SSH session' };
  if (place.platform === 'darwin') return { command: ['open'] };
  if (place.platform === 'win32') return { command: ['cmd', '/c', 'start', ''] };
  if (place.uid === 0) return { none: 'a browser is never started as root' };
  if (!hasDisplay(place)) return { none: 'there is no display' };
  const found = onPath('xdg-open', place.env);
  return found === null ? { none: 'xdg-open is not installed' } : { command: [found] };
}

function onPath(program: string, env: Env): string | null {
  for (const folder of (env.PATH ?? '').split(delimiter)) {
    const file = join(folder, program);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}

/** Electron's program if it is already there: the override folder, or what `path.txt` beside its package names. */
export function findElectron(env: Env, from: string = import.meta.url): string | null {
  let folder: string;
  try {
    folder = dirname(createRequire(from).resolve('electron/package.json'));
  } catch {
    return null;
  }
  const override = env.ELECTRON_OVERRIDE_DIST_PATH;
  try {
    const name = readFileSync(join(folder, 'path.txt'), 'utf8').trim();
    const file = join(override === undefined || override === '' ? join(folder, 'dist') : override, name);
    return existsSync(file) ? file : null;
  } catch {
    if (override === undefined || override === '') return null;
    const file = join(override, process.platform === 'win32' ? 'electron.exe' : 'electron');
    return existsSync(file) ? file : null;
  }
}

/** The line that brings a port of this computer to the one the person sits at. */
export function sshLine(place: Surroundings, port: number): string {
  const [, , server] = (place.env.SSH_CONNECTION ?? '').split(' ');
  const host = server !== undefined && server !== '' ? server : hostname();
  return `ssh -L ${port}:127.0.0.1:${port} ${userName()}@${host}`;
}
