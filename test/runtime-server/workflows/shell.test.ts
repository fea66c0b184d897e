/** Commands of steps that are placed elsewhere: what was prepared for one is let go, also where it cannot begin. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createShell, type ShellEnd } from '../../../src/runtime-server/workflows/shell.ts';
import { scratchFolder } from '../../support/scratch.ts';

test.each([
  ['a folder lies where its output would go', (folder: string) => mkdirSync(join(folder, 'step.log')), 'true', true],
  ['its program is not there', () => {}, '/nowhere/at/all', true],
  ['it could not be let go either', () => {}, '/nowhere/at/all', false],
])('where %s, the step ends and what was prepared is let go', async (_, prepare, program, settles) => {
  const workspace = scratchFolder();
  const folder = join(workspace, 'running');
  const shell = createShell({ workspace, folder, env: {}, timers: systemTimers });
  prepare(folder);
  const settled: (number | null)[] = [];
  const place = async () => ({
    command: [program] as [string],
    preface: '',
    async settle({ code }: { readonly code: number | null }) {
      settled.push(code);
      if (!settles) throw new Error('It went wrong.');
      return '';
    },
  });
  const end = await new Promise<ShellEnd>((resolve) => {
    shell.start({ key: 'step', text: '', cwd: null, env: {}, place }, resolve);
  });
  expect([end.kind, settled]).toEqual(['cannot_start', [null]]);
  await shell.close(0);
});
