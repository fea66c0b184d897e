/** New runs: one request makes bots in worktrees of one repository and gives them the prompt; a person then merges, keeps or discards. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { BudgetState } from '../../../src/contracts/factory/budget-routes.ts';
import type { QuickChoices, QuickPlan, QuickRun } from '../../../src/contracts/factory/quick-run-routes.ts';
import type { SandboxQuestion } from '../../../src/contracts/factory/teams-routes.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { installStandInClaude } from '../../support/stand-in-claude/install.ts';
import { type Engine, startEngine, waitFor } from '../engine.ts';

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-C', cwd, '-c', 'user.name=P', '-c', 'user.email=p@example.org', ...args], {
    encoding: 'utf8',
    stdio: 'pipe',
  }).trim();

function repository(): string {
  const folder = join(scratchFolder(), 'shop');
  mkdirSync(folder);
  git(folder, 'init', '-q', '-b', 'main');
  git(folder, 'config', 'user.name', 'Person');
  git(folder, 'config', 'user.email', 'person@example.org');
  writeFileSync(join(folder, 'a.txt'), 'one\n');
  git(folder, 'add', '.');
  git(folder, 'commit', '-qm', 'first');
  return folder;
}

/** An engine where `claude` is a stand-in, and `gemini` a program that is signed in. */
async function setUp({ signedIn = true } = {}): Promise<{ engine: Engine; repo: string }> {
  const bin = installStandInClaude(join(scratchFolder(), 'bin'));
  writeFileSync(join(bin, 'gemini'), '#!/bin/sh\n[ "$1" = --version ] && { echo 0.20.0; exit; }\nexec cat\n', {
    mode: 0o755,
  });
  const keys = { GEMINI_API_KEY: 'key-of-tests', ...(signedIn ? { ANTHROPIC_API_KEY: 'key-of-tests' } : {}) };
  const engine = await startEngine({ env: { PATH: `${bin}:/usr/bin:/bin`, ...keys } });
  return { engine, repo: repository() };
}

const start = (engine: Engine, repo: string, more: object = {}) =>
  engine.call<QuickRun>('POST', '/quick-runs', {
    repository: repo,
    prompt: 'Fix the flaky test\nIt fails on Mondays.',
    who: [{ harness: 'claude' }],
    ...more,
  });
const get = async (engine: Engine, id: string) => (await engine.call<QuickRun>('GET', `/quick-runs/${id}`)).body;
const page = async (engine: Engine, { id, bots }: QuickRun) =>
  (await engine.call<{ spec: string }>('GET', `/nodes/${id}/${bots[0]?.nodeId}`)).body;
const outcome = (engine: Engine, id: string, bot: string, how: string, more: object = {}) =>
  engine.call<{ run: QuickRun; steps: string[] }>('POST', `/quick-runs/${id}/outcome`, { bot, outcome: how, ...more });
const treeOf = (engine: Engine, run: QuickRun, bot: string) =>
  join(engine.home, 'worktrees', run.bots[0]?.team ?? '', bot);
/** Its step was handed over, on a branch of its own. */
const handedOver = (engine: Engine, id: string) =>
  waitFor(
    () => get(engine, id),
    (run) =>
      run.bots.every((bot) => bot.status === 'working' && bot.state === 'idle' && bot.branch?.includes('--') === true),
  );

test('a prompt becomes a bot at work in a worktree, without a file in workspace or repository, and survives a restart', async () => {
  const { engine, repo } = await setUp();
  const { status, body: run } = await start(engine, repo);
  expect({ status, run }).toMatchObject({
    status: 201,
    run: {
      title: 'Fix the flaky test',
      repository: repo,
      baseBranch: 'main',
      baseCommit: git(repo, 'rev-parse', 'HEAD'),
      status: 'running',
      savedAs: null,
      bots: [
        { name: 'claude', harness: 'claude', model: null, outcome: null, diff: { files: 0, added: 0, removed: 0 } },
      ],
    },
  });
  await handedOver(engine, run.id);
  expect(git(repo, 'status', '--porcelain')).toBe('');
  expect(existsSync(join(engine.workspace, '.gantry', 'teams'))).toBe(false);
  const bot = run.bots[0];
  expect((await page(engine, run)).spec).toContain('It fails on Mondays.');
  expect((await engine.call<{ campaign: object }>('GET', '/campaigns/quick/board')).body.campaign).toMatchObject({
    title: 'New runs',
    total: 1,
  });
  writeFileSync(join(treeOf(engine, run, 'claude'), 'b.txt'), 'two\nthree\n');
  await engine.restart();
  const after = await waitFor(
    () => get(engine, run.id),
    (now) => now.bots[0]?.state === 'idle',
  );
  expect(after.bots[0]).toMatchObject({ agentId: bot?.agentId, diff: { files: 1, added: 2, removed: 0 } });
  const choices = (await engine.call<QuickChoices>('GET', '/quick-runs/choices')).body;
  expect(choices.repositories[0]).toMatchObject({ path: repo, name: 'shop', branch: 'main' });
  expect(choices.programs.map((one) => [one.harness, one.installed, one.signedIn]).slice(0, 2)).toEqual([
    ['claude', true, true],
    ['gemini', true, true],
  ]);
});

test('its program runs in the strictest sandbox that works here unless another is asked for, and commits there', async () => {
  const bin = join(scratchFolder(), 'bin');
  mkdirSync(bin);
  const work = 'echo done > b.txt; git add b.txt; git -c user.name=B -c user.email=b@example.org commit -qm work';
  const program = `#!/bin/sh\n[ "$1" = --version ] && { echo '2.1.329 (Claude Code)'; exit; }\n${work}\nexec cat\n`;
  writeFileSync(join(bin, 'claude'), program, { mode: 0o755 });
  const engine = await startEngine({ env: { PATH: `${bin}:/usr/bin:/bin`, ANTHROPIC_API_KEY: 'key-of-tests' } });
  const repo = repository();
  const plan = async (more: object) => {
    const { body } = await start(engine, repo, { dryRun: true, ...more });
    return (body as unknown as { plan: QuickPlan }).plan.bots.map(({ sandbox }) => sandbox);
  };
  const [strictest = 'none'] = await plan({});
  engine.team('dev', 'bots:\n  - { bot: web, harness: claude }\n');
  const asked = await engine.call<{ sandbox?: SandboxQuestion }>('POST', '/teams/dev/up', { dryRun: true });
  expect(strictest).toBe(asked.body.sandbox?.suggests ?? 'none');
  expect(await plan({ sandbox: 'none' })).toEqual(['none']);
  const { body: run } = await start(engine, repo);
  expect(run.bots[0]?.sandbox).toBe(strictest);
  await waitFor(
    async () => git(treeOf(engine, run, 'claude'), 'log', '--format=%s'),
    (subjects) => subjects.includes('work'),
  );
  expect((await engine.agent(run.bots[0]?.address ?? '')).sandbox ?? 'none').toBe(strictest);
  await engine.restart();
  expect((await get(engine, run.id)).bots[0]?.sandbox).toBe(strictest);
  const saved = await engine.call<{ text: string }>('POST', `/quick-runs/${run.id}/save`, { team: 'kept' });
  expect(saved.body.text).toContain(`sandbox: ${strictest}`);
});

test('two bots of one run work side by side: one is merged, the other discarded and brought back', async () => {
  const { engine, repo } = await setUp();
  const { body: run } = await start(engine, repo, { who: [{ harness: 'claude' }, { harness: 'claude' }] });
  expect(run.bots.map(({ name }) => name)).toEqual(['claude', 'claude-2']);
  const { bots } = await handedOver(engine, run.id);
  const [first, second] = [treeOf(engine, run, 'claude'), treeOf(engine, run, 'claude-2')];
  expect([git(first, 'rev-parse', 'HEAD'), git(second, 'rev-parse', 'HEAD')]).toEqual([run.baseCommit, run.baseCommit]);
  writeFileSync(join(first, 'a.txt'), 'uno\n');
  writeFileSync(join(second, 'c.txt'), 'other\n');

  const plan = await outcome(engine, run.id, 'claude', 'merged', { dryRun: true });
  expect(plan.body).toMatchObject({
    dryRun: true,
    plan: { steps: ['commit 1 changed files: Fix the flaky test', expect.stringMatching(/^merge /)] },
  });
  expect(readFileSync(join(repo, 'a.txt'), 'utf8')).toBe('one\n');

  const merged = await outcome(engine, run.id, 'claude', 'merged');
  expect(merged).toMatchObject({
    status: 200,
    body: { run: { bots: [{ outcome: 'merged', diff: { files: 1 } }, { outcome: null }] } },
  });
  expect(readFileSync(join(repo, 'a.txt'), 'utf8')).toBe('uno\n');
  // Its bot stopped without a report: the person's decision closes the step, and the other one is still at work.
  const stepOf = async (at: number) =>
    (await engine.call<{ card: object }>('GET', `/nodes/${run.id}/${run.bots[at]?.nodeId}`)).body.card;
  expect(await stepOf(0)).toMatchObject({ status: 'done' });
  expect(await stepOf(1)).toMatchObject({ status: 'working' });
  expect(await outcome(engine, run.id, 'claude', 'discarded')).toMatchObject({ status: 409 });

  const discarded = await outcome(engine, run.id, 'claude-2', 'discarded');
  expect(discarded).toMatchObject({
    status: 200,
    body: { run: { bots: [{}, { outcome: 'discarded', state: 'offline', diff: { files: 1, added: 1 } }] } },
  });
  expect(existsSync(second)).toBe(false);
  expect(git(repo, 'branch', '--list', '*/claude-2*')).toBe('');

  const kept = await outcome(engine, run.id, 'claude-2', 'kept');
  expect(kept).toMatchObject({ status: 200, body: { run: { bots: [{}, { outcome: 'kept' }] } } });
  expect(git(repo, 'show', `${bots[1]?.branch}:c.txt`)).toBe('other');
}, 90_000);

test('the diff of a bot is read while it works, and after it was merged, kept, discarded or brought back', async () => {
  const { engine, repo } = await setUp();
  const who = ['claude', 'claude', 'claude'].map((harness) => ({ harness }));
  const { body: run } = await start(engine, repo, { who });
  await handedOver(engine, run.id);
  const names = ['claude', 'claude-2', 'claude-3'];
  for (const name of names) {
    const tree = treeOf(engine, run, name);
    writeFileSync(join(tree, `${name}.txt`), `by ${name}\n`);
  }
  const diffOf = (name: string) =>
    engine.call<{ patch: string; files: object[] }>('GET', `/quick-runs/${run.id}/diff?bot=${name}`);
  const shows = async (name: string) => {
    const { status, body } = await diffOf(name);
    const shown = body.patch.includes(`+by ${name}`);
    return { status, shown, files: body.files.length };
  };
  const whole = { status: 200, shown: true, files: 1 };
  for (const name of names) expect(await shows(name)).toEqual(whole);
  await outcome(engine, run.id, 'claude', 'merged');
  await outcome(engine, run.id, 'claude-2', 'kept');
  await outcome(engine, run.id, 'claude-3', 'discarded');
  // The person goes on: what each bot did stays what it was.
  writeFileSync(join(repo, 'a.txt'), 'person\n');
  git(repo, 'commit', '-qam', 'more');
  for (const name of names) expect(await shows(name)).toEqual(whole);
  await outcome(engine, run.id, 'claude-3', 'kept');
  expect(await shows('claude-3')).toEqual(whole);
  expect(await diffOf('nobody')).toMatchObject({
    status: 404,
    body: { error: { action: `It has: ${names.join(', ')}.` } },
  });
  rmSync(repo, { recursive: true });
  expect(await diffOf('claude')).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
}, 90_000);

test('a run whose work is all discarded leaves no team, no worktree and no branch, and stays in the list', async () => {
  const { engine, repo } = await setUp();
  const { body: run } = await start(engine, repo);
  await handedOver(engine, run.id);
  expect(await outcome(engine, run.id, 'claude', 'discarded')).toMatchObject({ status: 200 });
  expect(git(repo, 'branch', '--list')).toBe('* main');
  expect(git(repo, 'worktree', 'list').split('\n')).toHaveLength(1);
  expect((await engine.call<{ teams: unknown[] }>('GET', '/teams')).body.teams).toEqual([]);
  const list = await engine.call<{ runs: QuickRun[] }>('GET', '/quick-runs');
  expect(list.body.runs).toMatchObject([{ id: run.id, bots: [{ outcome: 'discarded', agentId: null, branch: null }] }]);
  expect(await outcome(engine, run.id, 'claude', 'kept')).toMatchObject({ status: 409 });
});

test('a kept branch can be checked out by its person', async () => {
  const { engine, repo } = await setUp();
  const { body: run } = await start(engine, repo, { title: 'Other words' });
  await handedOver(engine, run.id);
  writeFileSync(join(treeOf(engine, run, 'claude'), 'b.txt'), 'b\n');
  const { body } = await outcome(engine, run.id, 'claude', 'kept');
  git(repo, 'switch', '-q', body.run.bots[0]?.branch ?? '');
  expect(git(repo, 'log', '-1', '--format=%s')).toBe('Other words');
});

test('Save as a team writes a team file that its person need not agree to', async () => {
  const { engine, repo } = await setUp();
  const { body: run } = await start(engine, repo);
  expect(
    (await engine.call('POST', `/quick-runs/${run.id}/save`, { team: 'fixers', dryRun: true })).body,
  ).toMatchObject({ applied: false });
  expect(existsSync(join(engine.workspace, '.gantry', 'teams', 'fixers'))).toBe(false);
  expect(await engine.call('POST', `/quick-runs/${run.id}/save`, { team: 'fixers' })).toMatchObject({
    status: 200,
    body: { file: '.gantry/teams/fixers/team.yaml', applied: true },
  });
  expect((await engine.call('GET', '/teams/fixers/check')).body).toMatchObject({ ok: true });
  expect((await get(engine, run.id)).savedAs).toBe('fixers');
  expect(await engine.call('POST', `/quick-runs/${run.id}/save`, { team: 'fixers' })).toMatchObject({ status: 409 });
});

test('images become files that git does not see, and the prompt names them', async () => {
  const { engine, repo } = await setUp();
  const { body: run } = await start(engine, repo, {
    images: [{ name: 'screen.png', data: Buffer.from('not really').toString('base64') }],
  });
  await handedOver(engine, run.id);
  const tree = treeOf(engine, run, 'claude');
  expect(readFileSync(join(tree, '.gantry', 'images', '1-screen.png'), 'utf8')).toBe('not really');
  expect(git(tree, 'status', '--porcelain')).toBe('');
  expect((await page(engine, run)).spec).toContain('\n- .gantry/images/1-screen.png');
});

test('settings that the repository brings wait for a yes, which names them; nothing is started before', async () => {
  const { engine, repo } = await setUp();
  mkdirSync(join(repo, '.gemini'));
  writeFileSync(join(repo, '.gemini', 'settings.json'), '{"mcpServers":{"x":{"command":"rm"}}}\n');
  const refused = await start(engine, repo, { who: [{ harness: 'gemini' }] });
  expect(refused).toMatchObject({ status: 409, body: { error: { code: 'needs_person' } } });
  expect(JSON.stringify(refused.body)).toContain('.gemini/settings.json');
  expect((await engine.call<{ runs: unknown[] }>('GET', '/quick-runs')).body.runs).toEqual([]);
  await engine.agree();
  expect(await start(engine, repo, { who: [{ harness: 'gemini' }], dryRun: true })).toMatchObject({ status: 200 });
});

test('what cannot be started is refused in plain words, and leaves nothing behind', async () => {
  const { engine, repo } = await setUp();
  const empty = join(scratchFolder(), 'empty');
  git(scratchFolder(), 'init', '-q', empty);
  const bare = join(scratchFolder(), 'bare.git');
  git(scratchFolder(), 'init', '-q', '--bare', bare);
  const plain = scratchFolder();
  const gone = repository();
  rmSync(gone, { recursive: true });
  const refusals = [
    [{ repository: plain }, /is not a git repository/],
    [{ repository: empty }, /has no commit yet/],
    [{ repository: bare }, /is a bare repository/],
    [{ repository: gone }, /does not exist/],
    [{ repository: 'shop' }, /is not an absolute path/],
    [{ repository: join(repo, 'a.txt') }, /is not a folder/],
    [{ repository: engine.home }, /data folder/],
    [{ who: [{ harness: 'opencode' }] }, /opencode is not installed/],
    [{ who: [{ harness: 'nonsense' }] }, /harness/],
    [{ who: [] }, /who/],
    [{ who: Array.from({ length: 5 }, () => ({ harness: 'claude' })) }, /who/],
    [{ who: [{ model: 'nobody/has-this' }] }, /nobody/],
    [{ prompt: '  \n ' }, /prompt/],
    [{ prompt: 'x'.repeat(200_000) }, /prompt/],
    [{ images: [{ name: '../x.png', data: '' }] }, /images/],
  ] as const;
  for (const [body, words] of refusals) {
    const { status, body: answer } = await start(engine, repo, body);
    expect([status, words.test(JSON.stringify(answer))]).toEqual([expect.toBeOneOf([400, 409, 413]), true]);
  }
  expect((await engine.call<{ runs: unknown[] }>('GET', '/quick-runs')).body.runs).toEqual([]);
  expect((await engine.call<{ teams: unknown[] }>('GET', '/teams')).body.teams).toEqual([]);
  expect(git(repo, 'branch', '--list')).toBe('* main');
});

test('a program that is not signed in comes after one that is, and is refused with the way to sign in', async () => {
  const { engine, repo } = await setUp({ signedIn: false });
  const { programs } = (await engine.call<QuickChoices>('GET', '/quick-runs/choices')).body;
  expect(programs.filter((one) => one.installed).map((one) => [one.harness, one.signedIn])).toEqual([
    ['gemini', true],
    ['claude', false],
  ]);
  const refused = await start(engine, repo);
  expect(refused.status).toBe(409);
  expect(JSON.stringify(refused.body)).toContain('claude is not signed in');
});

test('a hosted model works in a worktree of its own, and a set-up that a team has for the repository is used and shows how far it is', async () => {
  const endpoints = { local: { wire: 'openai', baseUrl: 'http://127.0.0.1:9/v1' } } as const;
  const repo = repository();
  const engine = await startEngine({ models: { endpoints } });
  engine.team(
    'web',
    `bots:\n  - { bot: web, harness: shell, cwd: ${repo}, worktree: true, setup: { copy: [cache], command: "until [ -e go ]; do sleep 0.05; done; touch ready" } }\n`,
  );
  const { status, body: run } = await start(engine, repo, { who: [{ model: 'local/Tiny.1' }] });
  expect({ status, run }).toMatchObject({
    status: 201,
    run: { bots: [{ name: 'tiny-1', harness: null, model: 'local/Tiny.1', outcome: null }] },
  });
  const setUpOf = async () => (await get(engine, run.id)).bots[0]?.setUp;
  await expect.poll(setUpOf).toMatchObject({ done: 1, total: 2, what: expect.stringMatching(/^until/) });
  writeFileSync(join(treeOf(engine, run, 'tiny-1'), 'go'), '');
  await expect.poll(() => existsSync(join(treeOf(engine, run, 'tiny-1'), 'ready'))).toBe(true);
  await expect.poll(setUpOf).toBeUndefined();
  const { models } = (await engine.call<QuickChoices>('GET', '/quick-runs/choices')).body;
  expect(models).toEqual(['local/Tiny.1']);
});

test('a run is still listed when its repository is gone', async () => {
  const { engine, repo } = await setUp();
  const { body: run } = await start(engine, repo);
  rmSync(repo, { recursive: true });
  const list = await engine.call<{ runs: QuickRun[] }>('GET', '/quick-runs');
  expect(list).toMatchObject({ status: 200, body: { runs: [{ id: run.id, bots: [{ diff: null }] }] } });
  expect((await engine.call<QuickChoices>('GET', '/quick-runs/choices')).body.repositories).toEqual([]);
  expect((await outcome(engine, run.id, 'claude', 'discarded')).status).toBeLessThan(500);
});

test('a bot cannot start, see or end a new run', async () => {
  const { engine, repo } = await setUp();
  const { body: run } = await start(engine, repo);
  await handedOver(engine, run.id);
  const token = await engine.botToken(run.bots[0]?.address ?? '');
  for (const [method, path, body] of [
    ['GET', '/quick-runs', undefined],
    ['GET', '/quick-runs/choices', undefined],
    ['POST', '/quick-runs', { repository: repo, prompt: 'x', who: [{ harness: 'claude' }] }],
    ['POST', `/quick-runs/${run.id}/outcome`, { bot: 'claude', outcome: 'merged' }],
    ['POST', `/quick-runs/${run.id}/save`, { team: 'x' }],
  ] as const) {
    expect([401, 403]).toContain((await engine.call(method, path, body, { token })).status);
  }
});

test('a run with a budget is counted by it, and a budget of nothing starts nothing', async () => {
  const { engine, repo } = await setUp();
  expect((await start(engine, repo, { budget: { usd: 0 } })).status).toBe(400);
  const { body: run } = await start(engine, repo, { budget: { tokens: 9000 } });
  const { budgets } = (await engine.call<{ budgets: BudgetState[] }>('GET', `/budgets?run=${run.id}`)).body;
  expect(budgets).toMatchObject([{ subject: `run:${run.id}`, budget: { tokens: 9000 }, reached: null }]);
  expect((await engine.call<{ runs: QuickRun[] }>('GET', '/quick-runs')).body.runs.map(({ id }) => id)).toEqual([
    run.id,
  ]);
});
