import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Agent, InvalidTeam, Team, TeamPlanStep } from '../../../src/contracts/factory/agent.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { computerId, type Engine, sharedEngine, waitFor } from '../engine.ts';
import { newTeam, startShells } from '../shells.ts';

const shared = sharedEngine();

const up = (engine: Engine, team: string, body: Record<string, unknown> = {}) =>
  engine.call<{ plan: TeamPlanStep[]; applied: boolean }>('POST', `/teams/${team}/up`, body);
const list = async (engine: Engine) =>
  (await engine.call<{ teams: Team[]; invalid: InvalidTeam[] }>('GET', '/teams')).body;
const teamOf = async (engine: Engine, name: string) => (await list(engine)).teams.find((team) => team.name === name);
const livePids = (engine: Engine) => engine.panes.list().filter((pane) => pane.alive).length;
/** A team file of its own. */
function fileTeam(engine: Engine, text: string): string {
  const name = newTeam(engine);
  engine.team(name, text);
  return name;
}

test('an agent carries every field of its contract, before and after its start', async () => {
  const engine = shared.current;
  const name = fileTeam(engine, 'bots:\n  - {bot: web, name: Web, role: builder, harness: shell}\n');
  await list(engine);
  const before = await engine.agent(`web@${name}`);
  expect(before).toEqual({
    id: expect.stringMatching(/^agent_/),
    slug: 'web',
    name: 'Web',
    address: `web@${name}`,
    team: name,
    role: 'builder',
    binding: { type: 'terminal', harness: 'shell' },
    state: 'offline',
    stateReason: null,
    stale: false,
    currentNode: null,
    proof: { proven: 0, total: 0 },
    pane: null,
    machine: computerId,
    runner: 'local',
    queueDepth: 0,
    since: expect.any(String),
  });
  await up(engine, name);
  const after = await engine.until(`web@${name}`, 'idle');
  expect(after).toMatchObject({ id: before.id, pane: { id: expect.stringMatching(/^pane_/), attachable: true } });
  expect((await teamOf(engine, name))?.agents).toEqual([after]);
  expect((await engine.call<{ agents: Agent[] }>('GET', `/agents?team=${name}`)).body).toEqual({
    agents: [after],
    engine: { running: true, error: null },
  });
  expect((await engine.call('GET', '/health')).body).toMatchObject({
    ok: true,
    panes: true,
  });
});

test('teams, bots and templates stand in the order in which a person counts', async () => {
  const engine = shared.current;
  const name = newTeam(engine, 'web');
  const step = { id: 'build', title: 'Build', executor: 'shell', command: 'true' };
  for (const n of [10, 1, 2]) {
    engine.team(`${name}-${n}`, 'bots:\n  - {bot: web, harness: shell}\n');
    engine.write(`.gantry/templates/counted-${n}.json`, JSON.stringify({ name: `Counted ${n}`, steps: [step] }));
  }
  const counted = [1, 2, 10].map((n) => `${name}-${n}`);
  const teams = (await list(engine)).teams.map((team) => team.name);
  expect(teams.filter((one) => one.startsWith(`${name}-`))).toEqual(counted);
  const { agents } = (await engine.call<{ agents: Agent[] }>('GET', '/agents')).body;
  expect(agents.map(({ team }) => team).filter((one) => one.startsWith(`${name}-`))).toEqual(counted);
  const { templates } = (await engine.call<{ templates: { id: string }[] }>('GET', '/templates')).body;
  expect(templates.map(({ id }) => id).filter((id) => id.startsWith('counted-'))).toEqual(
    [1, 2, 10].map((n) => `counted-${n}`),
  );
});

test('a dry run plans what up then does, and starts nothing', async () => {
  const engine = shared.current;
  const name = newTeam(engine, 'web', 'api');
  await engine.agree();
  const head = await engine.ledger.head();
  const live = livePids(engine);
  const planned = await up(engine, name, { dryRun: true });
  expect(planned.body).toMatchObject({ applied: false });
  expect(livePids(engine)).toBe(live);
  expect(await engine.ledger.read(head, 100)).toEqual([]);
  const applied = await up(engine, name);
  expect(applied.body).toEqual({ plan: planned.body.plan, applied: true });
  expect(applied.body.plan).toEqual(
    ['web', 'api'].map((slug) => ({
      action: 'spawn',
      agent: `${slug}@${name}`,
      harness: 'shell',
      machine: computerId,
      reason: 'it is not running',
      // Before the first start a person sees what would run.
      start: { command: null, cwd: engine.workspace, env: {} },
    })),
  );
  expect((await up(engine, name)).body.plan.map(({ action }) => action)).toEqual(['bind', 'bind']);
  expect((await engine.call('POST', `/teams/${name}/down?dryRun=1`)).body).toMatchObject({
    dryRun: true,
    plan: [{ action: 'stop' }, { action: 'stop' }],
  });
  expect((await engine.call('POST', `/teams/${name}/down`)).body).toEqual({ stopped: [`web@${name}`, `api@${name}`] });
  expect((await engine.call('POST', `/teams/${name}/down`)).body).toEqual({ stopped: [] });
  const again = (await up(engine, name, { dryRun: true })).body.plan;
  expect(again.map(({ start }) => start)).toEqual([undefined, undefined]);
});

test('with one harness or command missing, every hindered bot is named and nobody is started', async () => {
  const engine = shared.current;
  const name = fileTeam(
    engine,
    `bots:
  - {bot: web, harness: shell}
  - {bot: api, harness: codex}
  - {bot: ops, harness: custom, command: no-such-program-here --now}
`,
  );
  await list(engine);
  const head = await engine.ledger.head();
  const live = livePids(engine);
  for (const body of [{}, { dryRun: true }]) {
    const answer = await up(engine, name, body);
    expect(answer).toMatchObject({ status: 400, body: { error: { code: 'usage' } } });
    expect(JSON.stringify(answer.body)).toContain(`api@${name}`);
  }
  expect(livePids(engine)).toBe(live);
  expect(await engine.ledger.head()).toBe(head);
  expect((await engine.agent(`web@${name}`)).state).toBe('offline');
});

test('the first harness of the list that is installed is taken', async () => {
  const engine = shared.current;
  const name = fileTeam(engine, 'bots:\n  - {bot: web, harnesses: [codex, shell]}\n');
  const { body } = await up(engine, name);
  expect(body.plan).toMatchObject([{ action: 'spawn', harness: 'shell', reason: expect.stringContaining('codex') }]);
});

test('hosted and vendor bots are bound, not spawned; a hosted one without a model is a problem of the file', async () => {
  const engine = shared.current;
  const name = fileTeam(
    engine,
    'bots:\n  - {bot: web, harness: shell}\n  - {bot: h, binding: hosted, model: claude-x}\n  - {bot: v, vendor: acme}\n',
  );
  expect((await up(engine, name)).body.plan).toMatchObject([
    { action: 'spawn' },
    { action: 'bind', reason: expect.stringContaining('claude-x') },
    { action: 'bind', reason: expect.stringContaining('ticket') },
  ]);
  expect(await engine.agent(`h@${name}`)).toMatchObject({ state: 'idle', pane: null });
  const screen = await engine.call('GET', `/agents/h@${name}/screen`);
  expect(screen).toMatchObject({ status: 404, body: { error: { fact: expect.stringContaining('hosted') } } });
  await engine.call('POST', `/teams/${name}/down`, {});
  expect(await engine.agent(`h@${name}`)).toMatchObject({ state: 'offline', stateReason: 'stopped' });
  const other = fileTeam(
    engine,
    'bots:\n  - {bot: h, binding: hosted}\n  - {bot: s, harness: shell, permissions: PLAN_ONLY}\n',
  );
  const problems = await engine.call<{ problems: { message: string }[] }>('GET', `/teams/${other}/check`);
  expect(problems.body.problems?.map((one) => one.message)).toEqual([
    expect.stringContaining('names no model'),
    expect.stringContaining('applies only to hosted bots'),
  ]);
});

test('on this computer is fine, on another is not paired', async () => {
  const engine = shared.current;
  const name = newTeam(engine, 'web');
  const other = await up(engine, name, { on: 'computer_other' });
  expect(other).toMatchObject({
    status: 404,
    body: { error: { code: 'not_found', fact: expect.stringContaining('not paired') } },
  });
  expect(await up(engine, name, { on: computerId, dryRun: true })).toMatchObject({ status: 200 });
});

test('a preset is applied and shown while the team is up, and an unknown one is refused', async () => {
  const engine = shared.current;
  const name = fileTeam(
    engine,
    `bots:
  - {bot: web, harness: shell, env: {MODE: slow}}
presets:
  fast:
    bots:
      web: {env: {MODE: fast}}
`,
  );
  expect(await up(engine, name, { preset: 'no' })).toMatchObject({
    status: 400,
    body: { error: { action: 'It has: fast.' } },
  });
  expect(await teamOf(engine, name)).toMatchObject({ preset: null, presets: ['fast'] });
  await up(engine, name, { preset: 'fast' });
  expect(await teamOf(engine, name)).toMatchObject({ preset: 'fast' });
  await engine.until(`web@${name}`, 'idle');
  await engine.call('POST', '/send', { to: `web@${name}`, text: 'echo mode=$MODE' });
  await waitFor(
    async () => (await engine.call<{ text: string }>('GET', `/agents/web@${name}/capture`)).body.text,
    (text) => text.includes('mode=fast'),
  );
  await engine.call('POST', `/teams/${name}/down`);
  expect(await teamOf(engine, name)).toMatchObject({ preset: null });
});

test('a bot finds its doors in its environment, in files of mode 0600', async () => {
  const engine = shared.current;
  const name = await startShells(engine, 'web');
  const { id, pane } = await engine.agent(`web@${name}`);
  const text = `env | grep ^GANTRY_ | sort > ${name}.env; stat -c %a "$GANTRY_TOKEN_FILE" >> ${name}.env`;
  await engine.call('POST', '/send', { to: `web@${name}`, text });
  const file = join(engine.workspace, `${name}.env`);
  const lines = await waitFor(
    () => (existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []),
    (found) => /^\d+$/.test(found.at(-1) ?? ''),
  );
  const home = join(engine.home, 'run', 'bots', id);
  expect(lines).toEqual([
    `GANTRY_AGENT=${id}`,
    `GANTRY_PANE=${pane?.id}`,
    expect.stringMatching(/^GANTRY_PANE_RECORD=/),
    `GANTRY_SPOOL=${join(home, 'spool')}`,
    `GANTRY_TEAM=${name}`,
    `GANTRY_TOKEN_FILE=${join(home, 'token')}`,
    `GANTRY_URL_FILE=${join(engine.home, 'run', 'url')}`,
    `GANTRY_WORKSPACE=${engine.workspace}`,
    '600',
  ]);
  expect(statSync(home).mode & 0o777).toBe(0o700);
});

test('a bot’s token dies with its pane', async () => {
  const engine = shared.current;
  const name = await startShells(engine, 'web');
  const token = await engine.botToken(`web@${name}`);
  expect(await engine.call('GET', '/agents', undefined, { token })).toMatchObject({ status: 200 });
  await engine.call('POST', `/agents/web@${name}/input`, { text: 'exit 0', keys: ['Enter'] });
  await engine.until(`web@${name}`, 'offline');
  await waitFor(
    () => engine.call('GET', '/agents', undefined, { token }),
    ({ status }) => status === 401,
  );
});

test('a program that ends with an error shows as failed, one that ends well as offline', async () => {
  const engine = shared.current;
  const name = await startShells(engine, 'bad', 'good');
  await engine.call('POST', `/agents/bad@${name}/input`, { text: 'exit 3', keys: ['Enter'] });
  await engine.call('POST', `/agents/good@${name}/input`, { text: 'exit 0', keys: ['Enter'] });
  expect(await engine.until(`bad@${name}`, 'failed')).toMatchObject({
    pane: null,
    stateReason: expect.stringContaining('3'),
  });
  expect(await engine.until(`good@${name}`, 'offline')).toMatchObject({ pane: null });
  expect((await up(engine, name)).body.plan.map(({ action }) => action)).toEqual(['spawn', 'spawn']);
});

test('bots run on over a restart of the runtime, keep id, pane and text, and take messages again', async () => {
  const engine = shared.current;
  const name = await startShells(engine, 'web');
  await engine.call('POST', '/send', { to: `web@${name}`, text: 'echo before-restart' });
  const before = await engine.agent(`web@${name}`);
  await engine.restart();
  const after = await engine.until(`web@${name}`, 'idle');
  expect([after.id, after.pane]).toEqual([before.id, before.pane]);
  const sent = await engine.call<Delivery>('POST', '/send', { to: `web@${name}`, text: 'echo after-restart' });
  // Its shell is still being taken up for a moment: then the message waits that long.
  if (sent.body.state !== 'verified') expect(sent.body).toMatchObject({ state: 'queued', detail: 'starting' });
  await waitFor(
    async () => (await engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?agent=web@${name}`)).body.deliveries,
    ([delivery]) => delivery?.state === 'verified',
  );
  const { text } = (await engine.call<{ text: string }>('GET', `/agents/web@${name}/capture`)).body;
  expect(text).toMatch(/before-restart[\s\S]*after-restart/);
  expect(await teamOf(engine, name)).toBeTruthy();
});

test('a live bot is still shown, can be sent to and stopped when its team file is gone or broken', async () => {
  const engine = shared.current;
  const name = await startShells(engine, 'web');
  engine.team(name, 'bots: [');
  await waitFor(
    () => list(engine),
    ({ invalid }) => invalid.some((team) => team.name === name),
  );
  expect(await engine.agent(`web@${name}`)).toMatchObject({ state: 'idle' });
  expect(await up(engine, name)).toMatchObject({ status: 400, body: { error: { code: 'usage' } } });
  rmSync(join(engine.workspace, '.gantry', 'teams', name), { recursive: true });
  await waitFor(
    () => list(engine),
    ({ invalid }) => !invalid.some((team) => team.name === name),
  );
  await engine.restart();
  await engine.until(`web@${name}`, 'idle');
  expect(await engine.call('POST', '/send', { to: `web@${name}`, text: 'echo x' })).toMatchObject({ status: 200 });
  // Until its pane is read again after the restart, the message waits for it.
  await waitFor(
    () => engine.call<{ deliveries: Delivery[] }>('GET', `/deliveries?agent=web@${name}`),
    ({ body }) => body.deliveries[0]?.state === 'verified',
  );
  expect((await engine.call('POST', `/teams/${name}/down`)).body).toEqual({ stopped: [`web@${name}`] });
  expect(await engine.call('GET', `/agents/web@${name}`)).toMatchObject({ status: 404 });
  expect(await engine.call('POST', `/teams/${name}/down`)).toMatchObject({ status: 404 });
});

test('a hosted bot that asks for a worktree where none can be made is refused before its team starts', async () => {
  const engine = shared.current;
  const bot = '{bot: coder, binding: hosted, model: anthropic/claude-x, worktree: true}';
  const name = fileTeam(engine, `bots:\n  - ${bot}\n`);
  for (const dryRun of [true, false]) {
    expect(await up(engine, name, { dryRun })).toMatchObject({
      status: 400,
      body: { error: { fact: expect.stringContaining('not a git repository') } },
    });
  }
  expect((await engine.agent(`coder@${name}`)).state).toBe('offline');
});

test('worktree gives a bot a branch of its own; outside a repository it is told', async () => {
  const engine = shared.current;
  const name = fileTeam(engine, 'bots:\n  - {bot: web, harness: shell, cwd: repo, worktree: true}\n');
  engine.write('repo/file.txt', 'x');
  const refused = await up(engine, name);
  expect(refused).toMatchObject({
    status: 400,
    body: { error: { fact: expect.stringContaining('not a git repository') } },
  });
  const git = (...args: string[]) => execFileSync('git', args, { cwd: join(engine.workspace, 'repo'), stdio: 'pipe' });
  git('init', '-q');
  git('add', '.');
  git('-c', 'user.name=t', '-c', 'user.email=t@t', 'commit', '-qm', 'x');
  expect(await up(engine, name)).toMatchObject({ status: 200, body: { applied: true } });
  await engine.until(`web@${name}`, 'idle');
  const tree = join(engine.home, 'worktrees', name, 'web');
  expect(readFileSync(join(tree, 'file.txt'), 'utf8')).toBe('x');
  expect(String(git('branch', '--list', `gantry/${name}/web`))).toContain(`gantry/${name}/web`);
  // What it holds stays when the team goes down.
  writeFileSync(join(tree, 'unfinished.txt'), 'mine');
  expect(await engine.call('POST', `/teams/${name}/down`)).toMatchObject({ status: 200 });
  expect(readFileSync(join(tree, 'unfinished.txt'), 'utf8')).toBe('mine');
  expect((await engine.call('GET', `/agents/web@${name}/diff`)).body).toMatchObject({
    branch: `gantry/${name}/web`,
    uncommitted: 1,
    files: [{ path: 'unfinished.txt', change: 'added' }],
  });
});

test('an unknown team is not found by any of its doors', async () => {
  const engine = shared.current;
  for (const [method, path] of [
    ['POST', 'up'],
    ['POST', 'down'],
    ['GET', 'check'],
  ] as const) {
    const answer = await engine.call(
      method,
      `/teams/ghost/${path}`,
      method === 'POST' && path === 'up' ? {} : undefined,
    );
    expect(answer).toMatchObject({ status: 404, body: { error: { code: 'not_found' } } });
  }
});

test('check tells every problem of a file without starting anything', async () => {
  const engine = shared.current;
  const name = fileTeam(engine, 'bots:\n  - {bot: web, harness: emacs}\n  - {bot: web, harness: shell}\n');
  expect((await engine.call('GET', `/teams/${name}/check`)).body).toMatchObject({
    team: name,
    ok: false,
    problems: [
      { path: 'bots[0].harness', line: 2 },
      { path: 'bots[1].bot', line: 3 },
    ],
  });
});
