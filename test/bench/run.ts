/** `npm run bench [-- name…] [--list] [--quick]`: prints one JSON line for each figure on stdout, and nothing else. */
import { runFigures } from '../support/bench/runner.ts';

process.exitCode = await runFigures('bench', new URL('..', import.meta.url).pathname, process.argv.slice(2));
// What a figure that failed left open must not keep the others' caller waiting.
setTimeout(() => process.exit(), 10_000).unref();
