/** What the tests of processes share. */
import { readFileSync } from 'node:fs';

export const node = (script: string): [string, ...string[]] => [process.execPath, '-e', script];
export const sh = (script: string): [string, ...string[]] => ['/bin/sh', '-c', script];

/** Running and no zombie. */
export function alive(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat.slice(stat.lastIndexOf(')') + 2)[0] !== 'Z';
  } catch {
    return false;
  }
}

export const pidIn = (file: string) => Number(readFileSync(file, 'utf8'));
