/** Files that a person names on the command line: only regular ones are read, only so far, and none is waited for. */
import { execFileSync } from 'node:child_process';
import { symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { scratchFolder } from '../support/scratch.ts';
import { run, startEngine } from './support.ts';

const ways = [
  ['a proof', (file: string) => ['workspace', 'proof', 'run_1', 'node_1', file, '--line', 'a line']],
  ['a plan', (file: string) => ['workspace', 'plans', '--draft', 'A plan', '--file', file]],
  [
    'headers',
    (file: string) => ['tools', 'servers', 'attach', 'far', '--url', 'https://far.example', '--header', `@${file}`],
  ],
] as const;

test.each(ways)('%s from a pipe, a device, a folder or a file without end is refused at once', async (_, words) => {
  const engine = await startEngine();
  const folder = scratchFolder();
  const [pipe, endless, device] = ['pipe', 'endless', 'device'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  execFileSync('mkfifo', [pipe]);
  writeFileSync(endless, '');
  truncateSync(endless, 2 ** 40);
  symlinkSync('/dev/zero', device);
  for (const file of [pipe, endless, device, folder, join(folder, 'nothing')]) {
    const { code, err } = await run(engine.env, words(file));
    expect([file, code === 0]).toEqual([file, false]);
    expect(err).toMatch(/named pipe|bytes|device|folder|does not exist/);
  }
  expect(engine.seen.filter(({ op }) => /upload|draft|Server/.test(op))).toEqual([]);
});
