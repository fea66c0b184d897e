/**
 * The programs of this machine that the helper uses: called with words, never through a shell string; what they say is the fault.
 * Own call, because what they do is over when they end, and a start of a computer waits for five of them. Must not know what for.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import type { HostFault } from './protocol.ts';

/** Becomes the answer. */
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
const mostOutput = 16 * 1024 * 1024;

/** `path`: where programs are looked for. Answers stdout; throws what the program complained of. */
export function createTool(path: string): Tool {
  return ([program, ...words], input) =>
    new Promise((resolve, reject) => {
      const options = { env: { PATH: path, LC_ALL: 'C' }, timeout: deadline, maxBuffer: mostOutput };
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
