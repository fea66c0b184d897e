/**
 * `npm run measure:tests [-- files or folders…]`: runs these tests, or all, and writes to test/seconds.json how much CPU time each file takes, with
 * the programs that it starts. vitest.config.ts chooses by it what a plain `npm test` runs. Linux only: elsewhere the time of other programs is unknown.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinSeconds } from './apart.ts';

const root = join(import.meta.dirname, '..');
const kept = join(root, 'test', 'seconds.json');
const scratch = mkdtempSync(join(tmpdir(), 'gantry-seconds-'));
try {
  const lines = join(scratch, 'lines');
  writeFileSync(lines, '');
  // Two workers: the more files share one, the less of what all of them load counts for each.
  const vitest = [join(root, 'node_modules', 'vitest', 'vitest.mjs'), 'run', '--reporter=dot', '--maxWorkers=2'];
  const { status } = spawnSync(process.execPath, [...vitest, ...process.argv.slice(2)], {
    cwd: root,
    env: { ...process.env, GANTRY_TEST_SECONDS: lines },
    stdio: 'inherit',
  });
  const measured = readFileSync(lines, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line));
  const seconds = joinSeconds(JSON.parse(readFileSync(kept, 'utf8')), measured, (file) => existsSync(join(root, file)));
  writeFileSync(kept, `${JSON.stringify(seconds, null, 2)}\n`);
  process.exitCode = status ?? 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
