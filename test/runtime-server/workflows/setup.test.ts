/** `setup:` in the product as a person gets it: an npm project whose worktrees get their packages, shown as a run, once. */
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import type { Approval } from '../../../src/contracts/approvals/approval.ts';
import type { NodePage } from '../../../src/contracts/factory/node.ts';
import type { Flow, RunStarted } from '../../../src/contracts/factory/workflow.ts';
import { scratchHome, startProduct } from '../../support/bench/product.ts';
import { type ModelReply, text, tools } from '../../support/model-server/script.ts';
import { startModelServer } from '../../support/model-server/server.ts';

async function until<T>(ask: () => Promise<T>, holds: (answer: T) => boolean): Promise<T> {
  const end = performance.now() + 90_000;
  while (true) {
    const answer = await ask();
    if (holds(answer)) return answer;
    if (performance.now() > end) throw new Error(`It did not come so far: ${JSON.stringify(answer).slice(0, 4000)}`);
    await delay(50);
  }
}

/** A project whose test needs a package, and fails for a reason of its own. */
async function world(setup: string) {
  const model = await startModelServer();
  onTestFinished(() => model.close());
  const crew = `setup: ${setup}
bots:
  - { bot: fixer, role: coder, binding: hosted, model: anthropic/claude-x, permissions: ACCEPT_EDITS, worktree: true }
`;
  const base = scratchHome({ crew });
  onTestFinished(() => base.remove());
  const { workspace } = base;
  const put = (path: string, content: string) => {
    mkdirSync(dirname(join(workspace, path)), { recursive: true });
    writeFileSync(join(workspace, path), content);
  };
  put(
    'package.json',
    '{"name":"app","version":"1.0.0","dependencies":{"adds":"file:adds-1.0.0.tgz"},"scripts":{"test":"node test.js"}}',
  );
  put('value.js', 'module.exports = 3;\n');
  put('test.js', 'require("assert").equal(require("adds")(1, 1), require("./value.js"));\n');
  put('.gitignore', 'node_modules\n.env\n.gantry\n');
  put('.env', 'SECRET=1\n');
  const shell = (line: string) =>
    execFileSync('/bin/sh', ['-c', line], { cwd: workspace, encoding: 'utf8', stdio: 'pipe' });
  put('../adds/package.json', '{"name":"adds","version":"1.0.0"}');
  put('../adds/index.js', 'module.exports = (a, b) => a + b;\n');
  shell('npm pack --silent ../adds && npm install --offline --no-audit --no-fund --silent');
  shell('git init -q -b main && git config user.name P && git config user.email p@b.example');
  shell('git add . && git commit -qm first');
  const env = { ...base.env, ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: 'sk-test-0123456789' };
  const product = await startProduct({ ...base, env });
  onTestFinished(() => product.stop());
  const call = <T>(method: string, path: string, body?: unknown) =>
    product.engine.call<T>(method, `/api/factory${path}`, body);
  await call('POST', '/teams/crew/up', {});
  const play = (...replies: ModelReply[]) => {
    let next = 0;
    model.script(() => replies[next++] ?? text('Done.'));
  };
  const setups = async () => {
    const board = await call<{ runs: { dagId: string; title: string; status: string }[] }>(
      'GET',
      '/campaigns/project-worktrees/board',
    ).catch(() => ({ runs: [] }));
    return board.runs;
  };
  const prove = async () => {
    const { dagId } = await call<RunStarted>('POST', '/runs', {
      template: 'find-fix-prove',
      projectId: 'shop',
      team: 'crew',
      params: { check: 'npm test' },
    });
    return dagId;
  };
  const flow = (dagId: string) => call<Flow>('GET', `/dags/${dagId}`);
  const tree = join(base.env.GANTRY_HOME ?? '', 'worktrees', 'crew', 'fixer');
  return { model, product, workspace, tree, call, play, setups, prove, flow, shell };
}

const fixed = [
  tools({ name: 'file_write', input: { path: 'value.js', content: 'module.exports = 2;\n' } }),
  tools({ name: 'node_done', input: { output: 'It is two.' } }),
];

test('find, fix, prove works with npm test: the worktree gets its packages, shown as a run with its output', async () => {
  const { tree, workspace, call, play, setups, prove, flow } = await world(
    '{ command: npm ci --offline --no-audit --no-fund }',
  );
  play(...fixed);
  const dagId = await prove();
  const ended = await until(
    () => flow(dagId),
    (one) => !['running'].includes(one.status),
  );
  expect(ended.nodes.map((node) => [node.stepId, node.status])).toEqual([
    ['find', 'done'],
    ['fix', 'done'],
    ['prove', 'done'],
  ]);
  // Its own packages: what is linked would be shared by all.
  expect(lstatSync(join(tree, 'node_modules')).isDirectory()).toBe(true);
  const [made, ...more] = await setups();
  expect(more).toEqual([]);
  expect(made).toMatchObject({ title: expect.stringContaining('Set up the worktree of fixer@crew'), status: 'done' });
  const page = await call<NodePage>('GET', `/nodes/${made?.dagId}/setup`);
  const log = page.files.find((file) => file.name.endsWith('.log'))?.path ?? '';
  expect(readFileSync(join(workspace, log), 'utf8')).toContain('added 1 package');

  // It is ready: not again, until a lock file says other packages.
  play(...fixed);
  const again = await prove();
  await until(
    () => flow(again),
    (one) => one.status !== 'running',
  );
  expect(await setups()).toHaveLength(1);
  // What nobody said yes to sets nothing up: what they said yes to before does.
  const teamFile = join(workspace, '.gantry/teams/crew/team.yaml');
  const agreed = readFileSync(teamFile, 'utf8');
  writeFileSync(teamFile, agreed.replace('npm ci', 'echo evil > evil.txt && npm ci'));
  writeFileSync(join(tree, 'package-lock.json'), `${readFileSync(join(tree, 'package-lock.json'), 'utf8')}\n`);
  play(...fixed);
  const third = await prove();
  await until(
    () => flow(third),
    (one) => one.status !== 'running',
  );
  expect((await setups()).map(({ status }) => status)).toEqual(['done', 'done']);
  expect(existsSync(join(tree, 'evil.txt'))).toBe(false);
}, 180_000);

test('ignored paths are copied, a .env only after its person said yes to it by name', async () => {
  const { tree, workspace, play, setups, prove, flow, product, call } = await world(
    '{ copy: [node_modules, .env, value.js, missing] }',
  );
  play(...fixed);
  const dagId = await prove();
  const asked = await until(
    () => product.web.call<{ approvals: Approval[] }>('GET', '/api/factory/approvals'),
    (one) => one.approvals.length > 0,
  );
  expect(asked.approvals[0]).toMatchObject({ title: 'fixer@crew: Copy .env into its worktree' });
  expect(existsSync(join(tree, '.env'))).toBe(false);
  await product.web.call('POST', `/api/factory/approvals/${asked.approvals[0]?.id}/resolve`, { decision: 'approve' });
  const ended = await until(
    () => flow(dagId),
    (one) => one.status !== 'running',
  );
  expect(ended.status).toBe('done');
  expect(readFileSync(join(tree, '.env'), 'utf8')).toBe('SECRET=1\n');
  writeFileSync(join(tree, 'node_modules/adds/index.js'), 'changed');
  expect(readFileSync(join(workspace, 'node_modules/adds/index.js'), 'utf8')).toContain('a + b');
  const [made] = await setups();
  const page = await call<NodePage>('GET', `/nodes/${made?.dagId}/setup`);
  const log = readFileSync(join(workspace, page.files[0]?.path ?? ''), 'utf8');
  expect(log).toContain('node_modules/ was copied.');
  expect(log).toContain('missing was not copied');
  expect(log).toContain('value.js already exists.');
}, 180_000);

test('a set-up that fails fails the step with the end of what it printed, and cannot say what may run', async () => {
  const { workspace, tree, call, setups, prove, flow, model } = await world(
    "{ command: 'yes padding | head -n 4000; echo evil > .npmrc; echo evil >> ../../../../workspace/x; echo the reason; exit 3' }",
  );
  const dagId = await prove();
  const ended = await until(
    () => flow(dagId),
    (one) => one.status !== 'running',
  );
  const fix = ended.nodes.find((node) => node.stepId === 'fix');
  expect(fix).toMatchObject({ status: 'failed', cause: 'delivery_failed' });
  expect(fix?.detail).toMatch(/could not be set up.*status 3.*the reason/s);
  expect(model.requests).toEqual([]);
  const [made, ...more] = await setups();
  expect([made?.status, more]).toEqual(['failed', []]);
  const page = await call<NodePage>('GET', `/nodes/${made?.dagId}/setup`);
  const log = readFileSync(join(workspace, page.files[0]?.path ?? ''), 'utf8');
  // Where nothing confines commands, the person is told so instead.
  const confined = !log.includes('This command runs unconfined');
  expect([existsSync(join(tree, '.npmrc')), existsSync(join(workspace, 'x'))]).toEqual([!confined, !confined]);
  if (confined) expect(log).toMatch(/^\.npmrc appeared while the command ran\./m);
}, 180_000);
