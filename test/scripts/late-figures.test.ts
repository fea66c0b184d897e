/** What the bench says of a figure for which a run of all tests has no time. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const bench = fileURLToPath(new URL('../bench/run.ts', import.meta.url));

test('a figure that would begin after the time of the run is skipped, and its line says how to measure it', () => {
  const env = { ...process.env, GANTRY_BENCH_UNTIL: String(Date.now() - 1) };
  const output = execFileSync(process.execPath, [bench, '--quick', 'renderer.open'], { env, encoding: 'utf8' });
  expect(JSON.parse(output)).toMatchObject({
    figure: 'renderer.open',
    value: null,
    ok: null,
    why: 'no time was left; measure it with: npm run bench -- renderer.open',
  });
});
