/** Steps with the executor `queue`: a real queue over HTTP, real workers, real git; what comes back is verified and recorded as of any other step. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createGit } from '../../../src/kit/process/git.ts';
import { takeSnapshot } from '../../../src/runtime-server/workflows/worker-steps/snapshot.ts';
import { bot, scratch, steps, worker, workforceOf } from './support.ts';
import { git, openQueue, openWorkerWorld, repository } from './worker-support.ts';

test('a step changes files through a worker, is verified here, and its log and diff are kept', async () => {
  vi.stubEnv('SECRET_KEY', 'sk-test');
  onTestFinished(() => void vi.unstubAllEnvs());
  const q = await openQueue();
  const world = await openWorkerWorld(q);
  q.work();
  world.template('t', {
    params: [{ name: 'word' }],
    ...steps({
      build: {
        executor: 'queue',
        command: 'echo {{ params.word }} >> a.txt; echo new > b.txt; echo built; echo "$GANTRY_STEP $SECRET_KEY" >&2',
        verify: { command: 'grep -q "two words" a.txt && test -s b.txt' },
      },
      // Not one that was there from the beginning: it becomes ready when the one before it has ended.
      more: { executor: 'queue', command: 'cat b.txt', blocked_by: ['build'] },
      after: { command: 'echo "{{ step.build.output }}"', blocked_by: ['build'] },
    }),
  });
  const { dagId } = await world.run('t', { params: { word: 'two words' } });
  const flow = await world.settled(dagId);
  expect(flow.nodes.map((node) => [node.stepId, node.status, node.cause])).toEqual([
    ['build', 'done', 'proven'],
    ['more', 'done', 'proven'],
    ['after', 'done', 'proven'],
  ]);
  expect(git(world.workspace, 'status', '--porcelain', '--', 'a.txt', 'b.txt')).toBe(' M a.txt\n A b.txt');
  const page = await world.pages.node(dagId, 'build');
  expect(page.output).toBe('built');
  expect(page.history.map(({ status, cause }) => `${status} ${cause}`)).toEqual(
    expect.arrayContaining(['working awaits_worker', 'working at_worker', 'checking verifying', 'done proven']),
  );
  const file = (name: string) => {
    const found = page.files.find((one) => one.name === name);
    if (found === undefined) throw new Error(`No ${name} among ${page.files.map((one) => one.name).join(', ')}.`);
    return readFileSync(join(world.workspace, found.path), 'utf8');
  };
  const task = (await q.tasks()).at(-1);
  expect(file('build-1.log')).toContain(`Worker w1, task ${task?.id}\nbuilt\nbuild \n`);
  expect(file('build-1.diff')).toContain('+two words');
  // Nothing is left: not at the queue, not in git, not on disk.
  await expect.poll(async () => (await q.send('GET', `/files/${page.card.nodeId}-1-run.bundle/0`)).status).toBe(404);
  await expect.poll(() => git(world.workspace, 'for-each-ref', 'refs/gantry')).toBe('');
  expect(existsSync(join(world.workspace, `.gantry/ledger/running/${page.card.nodeId}-1-run.bundle`))).toBe(false);
});

test('from the workspace only files that git knows go to a worker, from a bot’s worktree all of its work', async () => {
  const q = await openQueue();
  const worktree = join(repository({ 'kept.txt': 'kept\n', '.gitignore': '*.env\n' }), 'workspace');
  writeFileSync(join(worktree, 'new.txt'), 'not committed\n');
  writeFileSync(join(worktree, 'bot.env'), 'KEY=1\n');
  const folder = repository();
  writeFileSync(join(folder, 'workspace', 'a.txt'), 'changed\n');
  writeFileSync(join(folder, 'workspace', 'my.env'), 'KEY=1\n');
  const world = await openWorkerWorld(q, {
    folder,
    workforce: workforceOf({ name: 'red', bots: [worker('coder', 'red')], edges: [] }),
    places: {
      takeUp: async () => {},
      setUp: async () => 'ready' as const,
      has: () => true,
      folderOf: () => worktree,
      patchOf: async () => null,
    },
  });
  q.work();
  const list = { executor: 'queue', command: 'git ls-files --cached --others; cat *.txt; git log --oneline | wc -l' };
  world.template(
    't',
    steps({
      fix: { executor: 'bot:coder', title: 'Fix it' },
      its: { ...list, in: 'fix', blocked_by: ['fix'] },
      own: list,
    }),
  );
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  await world.verbs.done({ dagId, nodeId: 'fix' }, bot('coder@red'), {});
  expect((await world.settled(dagId)).status).toBe('done');
  const output = async (step: string) =>
    (await world.pages.node(dagId, step)).output?.split('\n').map((line) => line.trim());
  expect(await output('its')).toEqual(['.gitignore', 'kept.txt', 'new.txt', 'kept', 'not committed', '1']);
  expect(await output('own')).toEqual(['a.txt', 'changed', '1']);
});

test('files that are too large together are refused with both sizes, and leave nothing behind', async () => {
  const workspace = join(repository(), 'workspace');
  const file = join(scratch(), 'step.bundle');
  const wish = { key: 'node_1-1-run', folder: workspace, file, trackedOnly: true, limit: 50 };
  await expect(takeSnapshot(createGit(), wish)).rejects.toMatchObject({
    code: 'refused',
    fact: expect.stringMatching(/have \d+ bytes packed; a task of the queue may have 50\.$/),
  });
  expect([existsSync(file), git(workspace, 'for-each-ref', 'refs/gantry')]).toEqual([false, '']);
});
