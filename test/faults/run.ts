/**
 * `npm run faults [-- name…] [--list] [--quick]`: one JSON line a figure on stdout, nothing else. Without any word it runs the suites that
 * `npm test` has no time for as well, and tells of them on stderr.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { runFigures } from '../support/bench/runner.ts';

const words = process.argv.slice(2);
process.exitCode = await runFigures('faults', new URL('..', import.meta.url).pathname, words);
if (words.length === 0) {
  const test = fileURLToPath(new URL('../../scripts/test.mjs', import.meta.url));
  const { status } = spawnSync(process.execPath, [test, 'suites'], { stdio: ['ignore', 2, 'inherit'] });
  if (status !== 0) process.exitCode = 1;
}
// What a figure that failed left open must not keep the others' caller waiting.
setTimeout(() => process.exit(), 10_000).unref();
