/** What bots can do, tried from inside: without a sandbox all of it is found, in one nothing of it. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { SandboxRow, TriedSandbox } from '../../../src/contracts/factory/sandbox-routes.ts';
import { findBubblewrap } from '../../../src/kit/sandbox/bubblewrap.ts';
import { findNetworkTools } from '../../../src/kit/sandbox/own-network.ts';
import { type Engine, sharedEngine, startEngine } from '../engine.ts';

const found = await findBubblewrap({
  path: process.env.PATH ?? '',
  sandbox: { mounts: [{ at: '/', shows: 'read' }], network: 'host', terminal: 'none', ends: 'with-parent', cwd: '/' },
});

async function listener(): Promise<string> {
  const server = createServer((socket) => socket.end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  return `127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
}

async function tryTeam(engine: Engine, team: string, hosts: string): Promise<readonly TriedSandbox[]> {
  const path = `/teams/${team}/sandbox?hosts=${encodeURIComponent(hosts)}`;
  const answer = await engine.call<{ bots: TriedSandbox[] }>('GET', path);
  expect(answer).toMatchObject({ status: 200 });
  return answer.body.bots;
}

const rowOf = ({ rows }: TriedSandbox, what: string): SandboxRow['found'] | undefined =>
  rows.find((row) => row.what === what)?.found;

function fill(engine: Engine): string {
  const home = join(engine.home, '..', 'user');
  mkdirSync(join(home, '.ssh'), { recursive: true });
  mkdirSync(join(home, 'notes'), { recursive: true });
  writeFileSync(join(engine.home, 'master.key'), 'key', { mode: 0o600 });
  return home;
}

test('without a sandbox a bot can do what its person can, and that is told', async () => {
  const engine = await startEngine({ env: { SOME_API_KEY: 'secret-value', BROWSER: 'none' } });
  const home = fill(engine);
  const host = await listener();
  engine.team('open', 'bots:\n  - { bot: web, harness: shell }\n  - { bot: api, harness: shell }\n');
  await engine.call('POST', '/teams/open/up', {});
  const bots = await tryTeam(engine, 'open', host);
  expect(bots.map(({ agent, sandbox, trouble }) => ({ agent, sandbox, trouble }))).toEqual([
    { agent: 'web@open', sandbox: 'none', trouble: null },
    { agent: 'api@open', sandbox: 'none', trouble: null },
  ]);
  const [web] = bots;
  if (web === undefined) throw new Error('no bot');
  expect(rowOf(web, join(home, '.ssh'))).toBe('change');
  expect(rowOf(web, join(engine.home, 'runtime.db'))).toBe('change');
  expect(rowOf(web, 'tokens of other bots')).toBe('change');
  expect(rowOf(web, host)).toBe('reach');
  expect(rowOf(web, 'processes outside')).toBe(process.platform === 'linux' ? 'see' : 'nothing');
  expect(web.rows.find(({ topic }) => topic === 'keys')).toMatchObject({ found: 'read', note: 'SOME_API_KEY' });
  expect(JSON.stringify(bots)).not.toContain('secret-value');
  expect(await engine.call('GET', '/teams/open/sandbox?bot=nobody')).toMatchObject({ status: 400 });
  expect(await engine.call('GET', '/teams/open/sandbox?hosts=nowhere')).toMatchObject({ status: 400 });
});

test('a team whose file waits for a yes, or has problems, says so instead of having no bots', async () => {
  const engine = await startEngine();
  const refusal = async () => {
    const { status, body } = await engine.call<{ error: { fact: string } }>('GET', '/teams/new/sandbox');
    return [status, body.error.fact];
  };
  const folder = join(engine.workspace, '.gantry/teams/new');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'team.yaml'), 'bots:\n  - { bot: web, harness: nothing }\n');
  expect(await refusal()).toEqual([409, expect.stringContaining('for your yes')]);
  await engine.agree();
  expect(await refusal()).toEqual([400, expect.stringContaining('has a problem')]);
});

describe.skipIf(typeof found === 'string')('where bubblewrap works', () => {
  const shared = sharedEngine();

  test('in a sandbox it reads its folder and what its file names, before its start as well', async () => {
    const engine = shared.current;
    const home = fill(engine);
    const host = await listener();
    const sees = 'sees: { read: [~/notes] }, caps: { memory: 256MiB }';
    engine.team('held', `bots:\n  - { bot: web, harness: shell, sandbox: files, ${sees} }\n`);
    await engine.agree();
    const before = await tryTeam(engine, 'held', host);
    await engine.call('POST', '/teams/held/up', {});
    const [web] = await tryTeam(engine, 'held', host);
    if (web === undefined) throw new Error('no bot');
    expect(web).toMatchObject({ sandbox: 'files', trouble: null });
    const here = ({ rows }: TriedSandbox) => rows.filter(({ topic }) => topic !== 'network');
    expect(before.map(here)).toEqual([here(web)]);
    expect(rowOf(web, engine.workspace)).toBe('change');
    expect(rowOf(web, join(home, 'notes'))).toBe('read');
    expect(rowOf(web, join(home, '.ssh'))).toBe('nothing');
    // What Gantry puts there for the bot is nothing of its person's.
    const inHome = `1 of ${readdirSync(home).length} names in your home`;
    expect(web.rows.find(({ what }) => what === home)).toMatchObject({ found: 'see', note: inHome });
    expect(rowOf(web, join(engine.home, 'runtime.db'))).toBe('nothing');
    expect(rowOf(web, join(engine.home, 'master.key'))).toBe('nothing');
    expect(rowOf(web, 'processes outside')).toBe('nothing');
    expect(rowOf(web, '/usr')).toBe('read');
    // It has its person's network.
    expect(rowOf(web, host)).toBe('reach');
    expect(web.rows.find(({ what }) => what === 'memory')).toMatchObject({ found: 'set', note: '256 MiB' });
    expect(rowOf(web, 'processes')).toBe('open');
  });

  test.skipIf(typeof findNetworkTools(process.env.PATH ?? '') === 'string')(
    'a secret that it has as a placeholder is not told as one that it reads',
    async () => {
      const engine = shared.current;
      fill(engine);
      const destination = {
        host: 'api.example.org',
        port: 443,
        header: 'authorization',
        form: 'bearer',
        methods: null,
      };
      await engine.call('PUT', '/vault/API_KEY', { value: 'a-long-enough-value', destination });
      await engine.call('PUT', '/vault/PLAIN', { value: 'another-value' });
      const env = 'env: { API_KEY: "vault:API_KEY", OTHER_TOKEN: "vault:PLAIN" }';
      engine.team('placed', `bots:\n  - { bot: web, harness: shell, sandbox: closed, ${env} }\n`);
      await engine.agree();
      const [web] = await tryTeam(engine, 'placed', '127.0.0.1:9');
      expect(web?.rows.filter(({ topic }) => topic === 'keys')).toEqual([
        { topic: 'keys', what: 'variables that look like keys', found: 'read', note: 'OTHER_TOKEN' },
        { topic: 'keys', what: 'secrets that it can use and not read', found: 'nothing', note: 'API_KEY' },
      ]);
    },
  );
});
