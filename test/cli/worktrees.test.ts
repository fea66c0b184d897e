/** What the verbs for a bot's branch ask of the engine, and what a person reads. */
import { expect, test } from 'vitest';
import { agent, run, startEngine } from './support.ts';

const diff = {
  agent: 'web@demo',
  path: '/w',
  branch: 'gantry/demo/web--fix-abcdef',
  into: 'main',
  base: 'b'.repeat(40),
  head: 'a'.repeat(40),
  ahead: 1,
  behind: 2,
  uncommitted: 1,
  files: [
    { path: 'new.txt', from: 'old.txt', change: 'renamed', added: 3, removed: 1 },
    { path: 'pic.png', from: null, change: 'added', added: null, removed: null },
  ],
  patch: '--- a/old.txt\n+++ b/new.txt\n+\u001b[31mred\n',
  cut: false,
};

test('a diff shows how the branch stands, its files and the patch, without any escape sequence', async () => {
  const { env, seen } = await startEngine({ agents: [agent('web')], answers: { agentDiff: () => diff } });
  const { out } = await run(env, ['agents', 'diff', 'web']);
  expect(seen.at(-1)).toMatchObject({ op: 'agentDiff', params: { id: 'agent_web' } });
  expect(out).toMatch(/^gantry\/demo\/web--fix-abcdef: 1 commit ahead of main, 2 behind\n1 file not committed\n/);
  expect(out).toMatch(/renamed +\+3 -1 +old\.txt → new\.txt\nadded +binary +pic\.png\n\n--- a\/old\.txt/);
  expect(out).not.toContain('\u001b');
  expect((await run(env, ['agents', 'diff', 'web', '--stat'])).out).not.toContain('---');
  expect((await run(env, ['agents', 'diff', 'web', '--json'])).json()).toEqual(diff);
});

const plan = {
  agent: 'web@demo',
  branch: 'gantry/demo/web',
  into: null as string | null,
  commits: 1,
  files: 2,
  keptAs: null as string | null,
  steps: ['do this', 'do that'],
};

test.each([
  ['merge', ['--commit', 'm'], 'mergeWorktree', { commit: 'm' }, { into: 'main' }, 'is merged into main (2 files, ccc'],
  ['keep', ['--as', 'mine'], 'keepWorktree', { as: 'mine' }, { keptAs: 'mine' }, 'is on the branch mine;'],
  [
    'discard',
    [],
    'discardWorktree',
    {},
    { keptAs: 'refs/gantry/discarded/x' },
    'git branch <name> refs/gantry/discarded/x',
  ],
  [
    'restore',
    ['--from', 'refs/gantry/discarded/x'],
    'restoreWorktree',
    { keptAs: 'refs/gantry/discarded/x' },
    {},
    'is back',
  ],
] as const)('%s asks with %j, and its dry run says every step', async (verb, options, op, body, more, words) => {
  const { env, seen } = await startEngine({
    agents: [agent('web')],
    answers: {
      [op]: (call) =>
        (call.body as { dryRun?: boolean }).dryRun === true
          ? { dryRun: true, plan: { ...plan, ...more } }
          : { done: { ...plan, ...more, head: 'c'.repeat(40) } },
    },
  });
  const dry = await run(env, ['agents', verb, 'web', ...options, '--dry-run']);
  expect(dry.out).toBe('1 commit, 2 files. Would:\n  do this\n  do that\n');
  expect(seen.at(-1)).toMatchObject({ op, body: { ...body, dryRun: true } });
  expect((await run(env, ['agents', verb, 'web', ...options])).out).toContain(words);
  expect(seen.at(-1)?.body).toEqual(body);
});
