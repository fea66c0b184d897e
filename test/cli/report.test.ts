/** `gantry workflows report` against an engine that answers a page. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { onEnd, run, startEngine } from './support.ts';

const folder = () => {
  const path = mkdtempSync(join(tmpdir(), 'gantry-report-'));
  onEnd(() => rmSync(path, { recursive: true, force: true }));
  return path;
};

test('the page is written for its owner only, and a file that exists is replaced only with --force', async () => {
  const { env, seen } = await startEngine({ answers: { getRunReport: () => 'the page' } });
  const file = join(folder(), 'run.html');
  const words = ['workflows', 'report', 'dag_1', '--out', file];
  expect((await run(env, words)).out).toBe(`Wrote the report of dag_1 to ${file}.\n`);
  expect(seen.at(-1)).toMatchObject({ op: 'getRunReport', params: { dagId: 'dag_1' } });
  expect(readFileSync(file, 'utf8')).toBe('"the page"');
  if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600);
  const again = await run(env, words);
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('exists already')]);
  expect((await run(env, [...words, '--force', '--json'])).out).toContain('"bytes"');
});

test('it can be printed, and a folder that does not exist is named', async () => {
  const { env } = await startEngine({ answers: { getRunReport: () => 'the page' } });
  expect((await run(env, ['workflows', 'report', 'dag_1', '--out', '-'])).out).toBe('"the page"\n');
  const nowhere = join(folder(), 'none', 'run.html');
  const refused = await run(env, ['workflows', 'report', 'dag_1', '--out', nowhere]);
  expect([refused.code, refused.err]).toEqual([64, expect.stringContaining('ENOENT')]);
});
