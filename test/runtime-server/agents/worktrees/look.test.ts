/** What a command put in the place of git's index, at whatever moment, is not read: Gantry would wait for it. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Git } from '../../../../src/kit/process/git.ts';
import { type Look, treeOf } from '../../../../src/runtime-server/agents/worktrees/look.ts';
import { scratchFolder } from '../../../support/scratch.ts';

/** A git that says where the index lies, and keeps what it was given in its place. */
async function given(index: string): Promise<string | null> {
  let copied: string | null = null;
  const git: Pick<Git, 'run' | 'addAll'> = {
    run: async (_cwd, [verb]) => (verb === 'rev-parse' ? index : 'tree'),
    async addAll(_cwd, options) {
      const copy = options?.env?.GIT_INDEX_FILE ?? '';
      copied = existsSync(copy) ? readFileSync(copy, 'utf8') : null;
    },
  };
  expect(await treeOf(git as Git, { root: '/', head: 'HEAD', uncommitted: ['a.txt'] } as unknown as Look)).toBe('tree');
  return copied;
}

test('a plain index is taken along; a pipe, a link elsewhere and none at all are not', async () => {
  const [folder, outside] = [scratchFolder(), scratchFolder()];
  writeFileSync(join(folder, 'index'), 'of git');
  expect(await given(join(folder, 'index'))).toBe('of git');
  expect(await given(join(folder, 'none'))).toBe(null);
  writeFileSync(join(outside, 'private'), 'of the person');
  symlinkSync(join(outside, 'private'), join(folder, 'link'));
  expect(await given(join(folder, 'link'))).toBe(null);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  // Whoever reads from the pipe is answered: a read would not wait for ever here, but be seen.
  const answers = spawn('sh', ['-c', `echo read > ${pipe}`]);
  onTestFinished(() => void answers.kill());
  expect(await given(pipe)).toBe(null);
});
