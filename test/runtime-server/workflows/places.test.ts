/** Steps about the work of a bot that has a worktree: where commands run, and the diff as a proof. Worktrees are played. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readTemplate } from '../../../src/runtime-server/workflows/template/read.ts';
import { bot, openWorld, scratch, statuses, steps, worker, workforceOf } from './support.ts';

const web = 'web@dev';
const workforce = workforceOf({ name: 'dev', bots: [worker('web', 'dev', { role: 'coder' })], edges: [] });

function playedPlaces(folder: string) {
  const taken: string[] = [];
  const state = { patch: '--- a\n+++ b\n' as string | null };
  return {
    taken,
    state,
    places: {
      takeUp: async (address: string, { stepId }: { stepId: string }) => {
        taken.push(`${address} ${stepId}`);
      },
      setUp: async () => 'ready' as const,
      has: (address: string) => address === web,
      folderOf: (address: string) => (address === web ? folder : null),
      patchOf: async () => state.patch,
    },
  };
}

test('a bot is put on the branch of its step before it is told; checks and steps about its work run in its folder', async () => {
  const folder = scratch();
  const { places, taken } = playedPlaces(folder);
  const world = await openWorld({ workforce, places });
  world.template(
    't',
    steps({
      fix: { title: 'Fix it', executor: 'role:coder', verify: { command: 'test -e mended && pwd > verified' } },
      prove: { blocked_by: ['fix'], in: 'fix', command: 'pwd' },
      outside: { blocked_by: ['fix'], command: 'pwd' },
    }),
  );
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  expect(taken).toEqual([`${web} fix`]);
  expect(world.sent[0]?.text).toContain('You work in your own git worktree');
  writeFileSync(join(folder, 'mended'), '');
  await world.verbs.done({ dagId, nodeId: 'fix' }, bot(web), {});
  const flow = await world.settled(dagId);
  expect(statuses(flow)).toEqual({ fix: 'done', prove: 'done', outside: 'done' });
  expect(readFileSync(join(folder, 'verified'), 'utf8').trim()).toBe(folder);
  expect((await world.pages.node(dagId, 'prove')).output).toBe(folder);
  expect((await world.pages.node(dagId, 'outside')).output).toBe(join(world.folder, 'workspace'));
});

test('a folder that is gone is said, and nothing runs elsewhere instead', async () => {
  const folder = join(scratch(), 'tree');
  mkdirSync(folder);
  const { places } = playedPlaces(folder);
  const world = await openWorld({ workforce, places });
  world.template(
    't',
    steps({
      fix: { title: 'Fix it', executor: 'role:coder' },
      prove: { blocked_by: ['fix'], in: 'fix', command: 'touch ran' },
    }),
  );
  const { dagId } = await world.run('t');
  await world.until(dagId, (flow) => flow.nodes[0]?.status === 'working');
  rmSync(folder, { recursive: true });
  await world.verbs.done({ dagId, nodeId: 'fix' }, bot(web), {});
  const flow = await world.settled(dagId);
  expect(flow.nodes[1]).toMatchObject({
    status: 'failed',
    cause: 'cannot_start',
    detail: `Its folder ${folder} is gone.`,
  });
});

test('the diff is kept as a proof when the bot says done; required and missing it is refused', async () => {
  const { places, state } = playedPlaces(scratch());
  const world = await openWorld({ workforce, places });
  const line = 'The diff of its worktree';
  world.template(
    'must',
    steps({ fix: { title: 'Fix it', executor: 'role:coder', proof: [{ line }], verify: { command: 'true' } } }),
  );
  const must = await world.run('must');
  await world.until(must.dagId, (flow) => flow.nodes[0]?.status === 'working');
  state.patch = null;
  const done = () => world.verbs.done({ dagId: must.dagId, nodeId: 'fix' }, bot(web), {});
  await expect(done()).rejects.toMatchObject({ code: 'refused', fact: expect.stringContaining(line) });
  state.patch = '--- a/x\n+++ b/x\n+mended\n';
  await done();
  await world.settled(must.dagId);
  const page = await world.pages.node(must.dagId, 'fix');
  expect(page.files.map((file) => [file.name, file.mime])).toEqual([
    ['fix-1.diff', 'text/x-diff'],
    ['fix-1-verify.log', 'text/plain'],
  ]);
  expect(readFileSync(join(world.folder, 'workspace', page.files[0]?.path ?? ''), 'utf8')).toBe(state.patch);
  expect(page.card.proof).toEqual({ proven: 2, total: 2 });

  world.template('may', steps({ fix: { title: 'Fix it', executor: 'role:coder' } }));
  const may = await world.run('may');
  await world.until(may.dagId, (flow) => flow.nodes[0]?.status === 'working');
  await world.verbs.done({ dagId: may.dagId, nodeId: 'fix' }, bot(web), {});
  const free = await world.pages.node(may.dagId, 'fix');
  expect(free.card).toMatchObject({ status: 'done', proof: { proven: 0, total: 0 } });
  expect(free.proofs.map((proof) => proof.line)).toEqual([line]);
});

test('"in" names an earlier step of a bot, and is for commands', () => {
  const problems = (given: Record<string, Record<string, unknown>>) => {
    const read = readTemplate(JSON.stringify(steps(given)), 't', 'json');
    return read.ok ? [] : read.problems.map((one) => one.message);
  };
  const fix = { executor: 'role:coder', title: 'Fix' };
  expect(problems({ fix, a: { in: 'fix', blocked_by: ['fix'] } })).toEqual([]);
  expect(problems({ fix, a: { in: 'fix' } })).toEqual(['"a" does not wait for "fix".']);
  expect(problems({ a: { in: 'none' } })).toEqual(['There is no step "none".']);
  expect(problems({ a: {}, b: { in: 'a', blocked_by: ['a'] } })).toEqual([
    '"a" is not a step of a bot, so it has no folder of its own.',
  ]);
  expect(problems({ fix, more: { ...fix, in: 'fix', blocked_by: ['fix'] } })).toEqual([
    'A bot works in its own folder; "in" is only for the executors shell and queue.',
  ]);
});
