/** What a worktree is given of the checkout: what git ignores, and nothing secret or telling that nobody said yes to by name. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/kit/clock/clock.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createGit } from '../../../../src/kit/process/git.ts';
import { copyIgnored } from '../../../../src/runtime-server/agents/worktrees/copy.ts';
import { createWorktreeSetup, setupTemplate } from '../../../../src/runtime-server/agents/worktrees/setup.ts';
import { createPolicy } from '../../../../src/runtime-server/policy/index.ts';
import { createShellSandbox } from '../../../../src/runtime-server/tool-server/shell-sandbox.ts';
import { scratchFolder } from '../../../support/scratch.ts';

function folders() {
  const [from, to] = [scratchFolder(), scratchFolder()];
  execFileSync('git', ['init', '-q', from]);
  const put = (path: string) => {
    mkdirSync(dirname(join(from, path)), { recursive: true });
    writeFileSync(join(from, path), path);
  };
  const asked: string[] = [];
  const copy = (path: string, may = true) => {
    const mayCopy = async (one: string) => {
      asked.push(one);
      return may;
    };
    return copyIgnored(createGit(), { from, to, path, freshName: 'fresh', mayCopy });
  };
  return { from, to, put, copy, asked };
}

test('a folder brings along nothing secret and nothing that says what may run, and says what it left', async () => {
  const { from, to, put, copy, asked } = folders();
  for (const path of [
    'a.txt',
    '.env',
    'deep/.claude/settings.json',
    'deep/b/.env',
    'deep/.env.example',
    'node_modules/x/.env',
  ]) {
    put(`local/${path}`);
  }
  writeFileSync(join(from, '.gitignore'), 'local/\n');
  expect(await copy('local')).toMatch(
    /^local\/ was copied without local\/\.env, local\/deep\/\.claude, local\/deep\/b\/\.env: /,
  );
  const has = (path: string) => existsSync(join(to, 'local', path));
  expect(['a.txt', 'deep/.env.example', 'node_modules/x/.env'].filter(has)).toHaveLength(3);
  expect(['.env', 'deep/.claude'].filter(has)).toEqual([]);
  expect(asked).toEqual([]);
});

test('a file is asked about by any name in its path', async () => {
  const { from, to, put, copy, asked } = folders();
  put('.claude/settings.local.json');
  writeFileSync(join(from, '.gitignore'), '.claude/\n');
  const path = '.claude/settings.local.json';
  expect(await copy(path, false)).toContain('a person said no');
  expect(existsSync(join(to, path))).toBe(false);
  expect(await copy(path)).toBe(`${path} was copied.`);
  expect(readFileSync(join(to, path), 'utf8')).toBe(path);
  expect(asked).toEqual([path, path]);
});

test('rules name what is copied by its place in the workspace, wherever in it the bot works', async () => {
  const { from: workspace, to, put } = folders();
  put('packages/app/.env');
  writeFileSync(join(workspace, '.gitignore'), '.env\n');
  mkdirSync(join(workspace, '.gantry'));
  const rule = '{ when: { tool: file.copy, path: packages/app/.env }, then: allow }';
  writeFileSync(join(workspace, '.gantry/policy.yaml'), `rules: [${rule}]\n`);
  const bot = { id: 'agent_1', address: 'dev@crew', setup: { command: null, copy: ['.env'] }, env: {} };
  const setup = createWorktreeSetup({
    workspace,
    sandbox: createShellSandbox({
      env: process.env,
      hidden: [],
      wanted: false,
      clock: systemClock,
      freshName: () => 'x',
    }),
    ids: createIds(systemClock),
    clock: systemClock,
    find: async () => ({ ...bot, cwd: join(workspace, 'packages/app'), folder: to, root: to }),
    policy: createPolicy({
      workspace,
      trust: { judge: (_, text) => ({ waits: false, counts: text }) },
      log: { warn() {} },
    }),
    ask: () => Promise.reject(new Error('Nobody is to be asked.')),
  });
  const place = setup.place({ dagId: 'run_1', template: { id: setupTemplate }, params: { bot: 'dev@crew' } });
  expect((await place?.(new AbortController().signal))?.preface).toContain('.env was copied.');
});
