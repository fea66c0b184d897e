/** Reports start problems in words before anything starts; otherwise the pane would show only a kernel message and an exit code. */
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { HostError, PaneSpecWire } from './protocol.ts';

/** A refusal that goes back to the caller as it is. */
export class HostRefusal extends Error {
  readonly wire: HostError;
  constructor(code: HostError['code'], fact: string, action: string) {
    super(fact);
    this.wire = { code, fact, action };
  }
}

/** Letters that are safe as part of a file name on every system. */
const paneId = /^[A-Za-z0-9_-]{1,80}$/;

export function checkStart(spec: PaneSpecWire): void {
  const [file] = spec.command;
  if (!paneId.test(spec.id))
    throw new HostRefusal('usage', `"${spec.id}" is not an id for a pane.`, 'Use letters, digits, _ and -.');
  if (!file) throw new HostRefusal('usage', 'The command is empty.', 'Name a program.');
  if (!existsSync(spec.cwd) || !statSync(spec.cwd).isDirectory()) {
    throw new HostRefusal(
      'usage',
      `${spec.cwd} is not a folder.`,
      'Name a folder that exists as the working directory.',
    );
  }
  if (process.platform !== 'win32' && !findProgram(file, spec)) {
    throw new HostRefusal('usage', `The program ${file} was not found.`, 'Install it, or name it by its full path.');
  }
}

function findProgram(file: string, spec: PaneSpecWire): string | null {
  const places = file.includes('/')
    ? [isAbsolute(file) ? file : resolve(spec.cwd, file)]
    : (spec.env.PATH ?? '/usr/bin:/bin').split(delimiter).map((folder) => join(folder || '.', file));
  return places.find(isProgram) ?? null;
}

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
