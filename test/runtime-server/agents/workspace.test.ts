import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { prepareWorkspace } from '../../../src/runtime-server/agents/workspace/prepare-workspace.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { computerId, startEngine, waitFor } from '../engine.ts';

const checkout = join(import.meta.dirname, '..', '..', '..');

function places() {
  const root = realpathSync(scratchFolder());
  for (const name of ['home', 'asked', 'last']) mkdirSync(join(root, name));
  return { home: join(root, 'home'), asked: join(root, 'asked'), last: join(root, 'last'), from: root };
}

test('the workspace is the one asked for, else the last one, else a new one with the sample', async () => {
  const { home, asked, last, from } = places();
  expect(await prepareWorkspace({ asked: 'asked', last, home, from })).toEqual({
    path: asked,
    created: false,
    written: [],
  });
  expect(await prepareWorkspace({ asked: null, last, home, from })).toEqual({
    path: last,
    created: false,
    written: [],
  });
  rmSync(last, { recursive: true });
  const path = join(home, 'workspace');
  expect(await prepareWorkspace({ asked: null, last, home, from })).toEqual({
    path,
    created: true,
    written: expect.arrayContaining(['.gantry/teams/demo/team.yaml']),
  });
  expect(existsSync(join(path, '.gantry', 'teams', 'demo', 'team.yaml'))).toBe(true);
  writeFileSync(join(path, 'README.md'), 'mine');
  expect(await prepareWorkspace({ asked: null, last: null, home, from })).toEqual({
    path,
    created: false,
    written: [],
  });
  expect(readFileSync(join(path, 'README.md'), 'utf8')).toBe('mine');
});

test('Gantry’s own checkout is never the workspace, also by a link or from inside', async () => {
  const { home, from } = places();
  symlinkSync(checkout, join(from, 'link'));
  for (const asked of [checkout, join(checkout, 'src'), 'link']) {
    await expect(prepareWorkspace({ asked, last: null, home, from })).rejects.toMatchObject({ code: 'usage' });
  }
});

test('a workspace that is no folder is told in one sentence', async () => {
  const { home, from } = places();
  writeFileSync(join(from, 'file'), '');
  for (const asked of ['file', 'nowhere']) {
    await expect(prepareWorkspace({ asked, last: null, home, from })).rejects.toMatchObject({ code: 'usage' });
  }
});

test.skipIf(process.getuid?.() === 0)(
  'a workspace that cannot be written to is refused (needs a user other than root)',
  async () => {
    const { home, asked, from } = places();
    chmodSync(asked, 0o500);
    await expect(prepareWorkspace({ asked, last: null, home, from })).rejects.toMatchObject({ code: 'refused' });
  },
);

test('the demo is added to any workspace without overwriting, works, and can be told apart', async () => {
  const engine = await startEngine();
  expect((await engine.call('GET', '/workspace')).body).toEqual({
    path: engine.workspace,
    computerId,
    engineId: engine.ledger.engineId,
    demo: false,
    writable: true,
  });
  engine.write('wordcount/src/words.js', 'export const words = (text) => text.split(" ");\n');
  const plan = await engine.call<{ written: string[] }>('POST', '/workspace/demo', { dryRun: true });
  expect(plan.body).toMatchObject({ team: 'demo', applied: false });
  expect(plan.body.written).toContain('.gantry/teams/demo/team.yaml');
  expect(plan.body.written).not.toContain('wordcount/src/words.js');
  expect(existsSync(join(engine.workspace, 'wordcount', 'package.json'))).toBe(false);
  const added = await engine.call('POST', '/workspace/demo', {});
  expect(added.body).toEqual({ team: 'demo', written: plan.body.written, applied: true });
  expect(readFileSync(join(engine.workspace, 'wordcount', 'src', 'words.js'), 'utf8')).toContain('split');
  expect((await engine.call('POST', '/workspace/demo', {})).body).toMatchObject({ written: [] });
  expect((await engine.call('GET', '/workspace')).body).toMatchObject({ demo: false });
});

test('nothing of the demo is written through a link that leads out of the workspace', async () => {
  const engine = await startEngine();
  for (const to of [scratchFolder(), join(scratchFolder(), 'not-there')]) {
    symlinkSync(to, join(engine.workspace, 'wordcount'));
    const refused = await engine.call<{ error: { fact: string } }>('POST', '/workspace/demo', {});
    expect([refused.status, refused.body.error.fact]).toEqual([
      409,
      expect.stringMatching(/wordcount leads out of the workspace/),
    ]);
    expect(existsSync(to) ? readdirSync(to) : []).toEqual([]);
    expect(existsSync(join(engine.workspace, '.gantry', 'teams', 'demo'))).toBe(false);
    rmSync(join(engine.workspace, 'wordcount'));
  }
  expect((await engine.call('POST', '/workspace/demo', {})).status).toBe(200);
});

test('the demo team builds, tests and reports, and takes commands as messages', async () => {
  const engine = await startEngine();
  await engine.call('POST', '/workspace/demo', {});
  expect((await engine.call('POST', '/teams/demo/up', {})).body).toMatchObject({ applied: true });
  const report = join(engine.workspace, 'wordcount', 'REPORT.md');
  const read = () => (existsSync(report) ? readFileSync(report, 'utf8') : '');
  await waitFor(read, (text) => text.includes('| river.txt | 59 | 41 |'));
  expect(readdirSync(join(engine.workspace, 'wordcount', 'dist'))).toEqual(['wordcount.js']);
  await waitFor(
    async () => (await engine.call<{ text: string }>('GET', '/agents/tester@demo/capture')).body.text,
    (text) => text.includes('8 tests passed'),
  );
  for (const slug of ['builder', 'tester', 'scribe']) await engine.until(`${slug}@demo`, 'idle');
  const sent = await engine.call('POST', '/send', { to: 'tester@demo', text: 'npm test' });
  expect(sent.body).toMatchObject({ state: 'verified' });
  engine.write('wordcount/texts/short.txt', 'one two two');
  await waitFor(read, (text) => text.includes('| short.txt | 3 | 2 |'));
});

test('the doctor names programs, harnesses, keys, disk and workspace, and no key’s value', async () => {
  const engine = await startEngine({ env: { ANTHROPIC_API_KEY: 'sk-secret-value' } });
  const { body } = await engine.call<{ checks: { name: string; group: string; state: string; fix: string | null }[] }>(
    'GET',
    '/doctor',
  );
  const groups = new Set(body.checks.map(({ group }) => group));
  for (const group of ['program', 'harness', 'model', 'disk', 'workspace']) expect(groups).toContain(group);
  expect(body.checks.find(({ name }) => name === 'Models of anthropic')).toMatchObject({ state: 'ok' });
  expect(body.checks.find(({ name }) => name === 'Models of openai')).toMatchObject({
    state: 'unknown',
    fix: expect.any(String),
  });
  expect(JSON.stringify(body)).not.toContain('sk-secret');
});
