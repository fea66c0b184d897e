/** A closed bot and what decides for it, joined: a question, a rule, and a secret that it never holds. */
import { lookup } from 'node:dns/promises';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { TeamPlanStep } from '../../../src/contracts/factory/agent.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { findNetworkTools } from '../../../src/kit/sandbox/own-network.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { send, standIn, told } from '../acp-bots/support.ts';
import { sharedEngine, waitFor } from '../engine.ts';

const path = process.env.PATH ?? '';
const works =
  typeof findNetworkTools(path) !== 'string' &&
  (await runProcess({
    command: ['bwrap', '--ro-bind', '/', '/', '--unshare-net', 'true'],
    env: { PATH: path },
    deadlineMs: 10_000,
  }).then(
    ({ exitCode }) => exitCode === 0,
    () => false,
  ));
/** A name that leads to this computer outside, and to nothing inside. */
const here = hostname().toLowerCase();
const hereIs = await lookup(here).then(
  ({ address }) => address,
  () => null,
);

describe.skipIf(!works)('where a network of its own can be made', () => {
  const shared = sharedEngine();
  const seen: string[] = [];
  const server = createServer((incoming, answer) => {
    seen.push(`${incoming.method} ${incoming.headers.host}`);
    answer.end('hello');
  });
  let port = 0;
  const value = 'npm_the-value-that-no-bot-holds';
  const gitToken = 'git_the-token-that-no-bot-holds';

  beforeAll(async () => {
    await new Promise<void>((done) => server.listen(0, hereIs ?? '127.0.0.1', done));
    port = (server.address() as AddressInfo).port;
    const engine = shared.current;
    const destination = { host: 'api.invalid', port: 443, header: 'authorization', form: 'bearer', methods: null };
    await engine.call('PUT', '/vault/API_KEY', { value, destination });
    const signIn = { ...destination, host: 'git.invalid', port: 8443, form: 'basic' };
    await engine.call('PUT', '/vault/GIT_TOKEN', { value: gitToken, destination: signIn });
    const env = '{API_KEY: "vault:API_KEY", GIT_TOKEN: "vault:GIT_TOKEN"}';
    engine.team('dev', `bots:\n  - {bot: web, harness: shell, sandbox: closed, env: ${env}}\n`);
    expect(await engine.call('POST', '/teams/dev/up', {})).toMatchObject({ status: 200 });
    await engine.until('web@dev', 'idle');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  let runs = 0;
  /** Runs lines in the bot's shell; answers what they printed. */
  async function inside(...lines: readonly string[]): Promise<string> {
    const engine = shared.current;
    runs += 1;
    const there = join(engine.workspace, `out-${runs}`);
    engine.slipIn(`probe-${runs}.sh`, `${lines.join('\n')}\n`);
    const text = `sh ${join(engine.workspace, `probe-${runs}.sh`)} > ${there}.part 2>&1; mv ${there}.part ${there}`;
    await engine.call('POST', '/agents/web@dev/input', { text, keys: ['Enter'] });
    await waitFor(async () => existsSync(there), Boolean);
    return readFileSync(there, 'utf8');
  }

  test('its person is asked once, with or without a proxy, and an answer lets what waits continue', async () => {
    const { approvals } = shared.current;
    const both = inside(
      'curl -sS https://registry.invalid/ & curl -sS --noproxy "*" https://registry.invalid/ &',
      'wait; echo over',
    );
    await waitFor(
      () => approvals.live(),
      (live) => live.length > 0,
    );
    const [question, ...more] = await approvals.live();
    expect([question?.title, more]).toEqual(['web@dev wants registry.invalid:443', []]);
    await approvals.answer({
      ...{ id: question!.id, decision: 'approve', note: null, at: new Date().toISOString() },
      resolvedBy: { user: 'user_local', surface: 'browser' },
    });
    // It was allowed, and no such host exists.
    expect(await both).toMatch(/502[\s\S]*over/);
    expect(await approvals.live()).toEqual([]);
  });

  test.skipIf(hereIs === null)(
    'a rule opens a host by its name, for programs that know a proxy and those that do not',
    async () => {
      const engine = shared.current;
      const policy = (then: string) => {
        engine.write(
          '.gantry/policy.yaml',
          `rules:\n  - {when: {tool: network, host: "${here}:${port}"}, then: ${then}}\n`,
        );
        return engine.agree();
      };
      await policy('allow');
      expect(await inside(`curl -sS http://${here}:${port}/`)).toBe('hello');
      expect(await inside(`curl -sS -H 'Host: evil.invalid' http://${here}:${port}/`)).toContain('names another host');
      await policy('deny');
      expect(await inside(`curl -sS http://${here}:${port}/`)).toContain('Gantry has not opened');
      expect(seen).toEqual([`GET ${here}:${port}`]);
      const { refused } = await engine.agent('web@dev');
      expect(refused?.[0]).toMatchObject({ destination: `${here}:${port}`, times: 1 });
    },
  );

  test('a secret with a destination is a placeholder inside, and its programs trust what is opened for it', async () => {
    // Cut in two: the script itself must not be found.
    const wanted = `${value.slice(0, 13)}''${value.slice(13)}`;
    const [key = '', found, own, all] = (
      await inside(
        'printf "%s\\n" "$API_KEY"',
        `grep -rlaF ${wanted} /proc/self/environ "$HOME" . 2>/dev/null | wc -l`,
        'grep -c BEGIN "$NODE_EXTRA_CA_CERTS"',
        'grep -c BEGIN "$SSL_CERT_FILE"',
      )
    ).split('\n');
    expect(key).toMatch(/^npm_gantry[0-9a-f]{40}$/);
    expect([found?.trim(), own]).toEqual(['0', '1']);
    expect(Number(all)).toBeGreaterThanOrEqual(1);
  });

  test('git signs in by itself to the host of a secret that goes into basic authorization, and to no other', async () => {
    const ask = (...lines: readonly string[]) =>
      `printf '${lines.join('\\n')}\\n\\n' | GIT_TERMINAL_PROMPT=0 git credential fill 2>/dev/null; echo "ends with $?"`;
    const lines = (
      await inside(
        'printf "%s\\n" "$GIT_TOKEN"',
        ask('protocol=https', 'host=git.invalid:8443'),
        ask('protocol=https', 'host=git.invalid:8443', 'username=ada'),
        ask('protocol=https', 'host=git.invalid'),
      )
    ).split('\n');
    const [placeholder = ''] = lines;
    expect(placeholder).toMatch(/^gantry[0-9a-f]{40}$/);
    const signIn = ['protocol=https', 'host=git.invalid:8443'];
    const [ok, password] = ['ends with 0', `password=${placeholder}`];
    expect(lines.slice(1)).toEqual([
      ...[...signIn, 'username=x-access-token', password, ok],
      ...[...signIn, 'username=ada', password, ok],
      ...['ends with 128', ''],
    ]);
  });

  test('the plan of a start names the secrets that are given as placeholders, for closed bots only', async () => {
    const engine = shared.current;
    const plain = await engine.call('PUT', '/vault/PLAIN', { value: 'in its environment' });
    expect(plain).toMatchObject({ status: 200 });
    const env = 'env: { KEY: "vault:API_KEY", AGAIN: "vault:API_KEY", PLAIN: "vault:PLAIN", MODE: test }';
    engine.team(
      'planned',
      `bots:\n  - { bot: web, harness: shell, sandbox: closed, ${env} }\n  - { bot: api, harness: shell, sandbox: files, ${env} }\n`,
    );
    const dry = await engine.call<{ plan: TeamPlanStep[] }>('POST', '/teams/planned/up', { dryRun: true });
    expect(dry.body.plan.map(({ agent, placeholders }) => [agent, placeholders])).toEqual([
      ['web@planned', ['API_KEY']],
      ['api@planned', undefined],
    ]);
  });

  test('an agent over ACP has the placeholder too, and nothing of its start is left once its team is stopped', async () => {
    const engine = shared.current;
    const folder = join(scratchFolder(), 'project');
    mkdirSync(folder);
    const sees = [dirname(standIn), resolve(import.meta.dirname, '../../../node_modules'), dirname(process.execPath)];
    engine.team(
      'acp',
      `bots:\n  - bot: dev\n    harness: acp\n    command: ${process.execPath} ${standIn}\n    cwd: ${folder}\n    sandbox: closed\n    env: { KEY: "vault:API_KEY" }\n    sees: { read: [${[...new Set(sees)].join(', ')}] }\n`,
    );
    const up = await engine.call<{ plan: TeamPlanStep[] }>('POST', '/teams/acp/up', {});
    expect(up.body.plan).toMatchObject([{ agent: 'dev@acp', placeholders: ['API_KEY'] }]);
    await engine.until('dev@acp', 'idle');
    await send(engine, 'dev@acp', 'value-of KEY');
    const said = await waitFor(
      async () => (await told(engine, 'dev@acp')).at(-1),
      (last) => last?.startsWith('text ') === true,
    );
    expect(said).toMatch(/^text npm_gantry[0-9a-f]{40}$/);
    await engine.call('POST', '/teams/acp/down');
    // Of `web@dev`, which runs on.
    await waitFor(
      () => readdirSync(join(engine.home, 'run', 'sandboxes')),
      (starts) => starts.length === 1,
    );
  });

  test('a start of Gantry removes the folders of bots that ended meanwhile, and leaves those of bots that run', async () => {
    const engine = shared.current;
    const folder = join(engine.home, 'run', 'sandboxes');
    const before = readdirSync(folder);
    expect(before).toHaveLength(1);
    await engine.stop();
    mkdirSync(join(folder, '0123456789abcdef'));
    await engine.restart();
    expect(readdirSync(folder)).toEqual(before);
    // Its proxy starts again with it.
    await waitFor(
      () => inside('curl -sS -o /dev/null -w "%{http_code}" http://10.0.0.1/'),
      (status) => status === '403',
    );
  });
});
