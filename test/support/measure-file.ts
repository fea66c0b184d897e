/** How much CPU time a test file takes in this worker, with the programs that it starts and that end with it (scripts/measure-tests.mjs). */
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { expect } from 'vitest';

/** Starts measuring; the answer appends a line to the file `to`. */
export function measureFile(to: string): () => void {
  const before = cpuSeconds();
  return () => {
    const file = relative(process.cwd(), expect.getState().testPath ?? '');
    appendFileSync(to, `${JSON.stringify({ file, seconds: cpuSeconds() - before })}\n`);
  };
}

/** proc(5): `cutime` and `cstime` are the 16th and 17th field, in hundredths of a second; the second field may have spaces. */
function cpuSeconds(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  const own = process.cpuUsage();
  return (own.user + own.system) / 1e6 + (Number(fields[13]) + Number(fields[14])) / 100;
}
