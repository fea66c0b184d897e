/**
 * Calls this machine's programs for the helper: with arguments, never through a shell string; an error is the program's own message. Separate from
 * the kit's call, because these programs leave no processes behind, and a start of a computer waits for five of them. Must not know what for.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { HostFault } from './protocol.ts';

/** The error that the caller gets. */
export class HostError extends Error {
  override readonly name = 'HostError';
  readonly code: HostFault['code'];

  constructor(code: HostFault['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

export type Tool = (command: readonly [string, ...string[]], input?: string) => Promise<string>;

/** Milliseconds: each is done in a few. */
const deadline = 20_000;
const maxOutput = 16 * 1024 * 1024;

/** `path`: where programs are searched. Returns stdout; throws the program's complaint. */
export function createTool(path: string): Tool {
  return ([program, ...words], input) =>
    new Promise((resolve, reject) => {
      const options = { env: { PATH: path, LC_ALL: 'C' }, timeout: deadline, maxBuffer: maxOutput };
      const child = execFile(program, words, options, (error, stdout, stderr) => {
        if (error === null) return resolve(stdout);
        const said = stderr.trim() || error.message;
        reject(new Error(`${program} ${words.join(' ').slice(0, 120)}: ${said.slice(0, 600)}`, { cause: error }));
      });
      child.stdin?.on('error', () => {});
      child.stdin?.end(input ?? '');
    });
}

export function isProgram(path: string, name: string): boolean {
  return path.split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
