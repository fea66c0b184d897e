/** Bots in terminals with `sandbox: closed`: what they reach, who decides it, and what happens where it cannot be had. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/contracts/common/errors.ts';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import type { TriedSandbox } from '../../../src/contracts/factory/sandbox-routes.ts';
import type { SandboxQuestion } from '../../../src/contracts/factory/teams-routes.ts';
import { programCommand } from '../../../src/kit/process/programs.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { findNetworkTools } from '../../../src/kit/sandbox/own-network.ts';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import { startSshAgent } from '../../../src/programs/sandbox-proxy/ssh-agent.ts';
import type { OpenNetwork } from '../../../src/runtime-server/agents/bot-networks.ts';
import type { SshFiles } from '../../../src/runtime-server/sandboxes/index.ts';
import { listenOutside } from '../../programs/sandbox-launch/outside.ts';
import { onEnd } from '../../support/at-end.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { hasSsh, newSshKey, startSshServer } from '../../support/ssh-server.ts';
import { standIn } from '../acp-bots/support.ts';
import { type Engine, keepBusy, startEngine, waitFor } from '../engine.ts';

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

const shell = (more = '', team = '') => `${team}bots:\n  - bot: web\n    harness: shell\n    sandbox: closed\n${more}`;
type Asked = Parameters<OpenNetwork>[0];
interface Refused {
  readonly error: { readonly code: string; readonly fact: string; readonly action: string };
}

/** Lets bots to `allowed.example` and to Gantry only; with an SSH server also to `code.example`, with these files for it. */
function decider(ssh: { readonly files: SshFiles; readonly port: number } | null = null) {
  const folder = scratchFolder();
  const opened: Asked[] = [];
  const closed: string[] = [];
  const openNetwork: OpenNetwork = async (bot) => {
    opened.push(bot);
    const socket = join(folder, `${opened.length}.sock`);
    const { close } = await listenOutside(socket, (connection, { way, host }) => {
      if (way === 'engine') {
        const engine = connect({ port: bot.enginePort, host: '127.0.0.1', allowHalfOpen: true });
        engine.on('error', () => connection.destroy());
        connection.pipe(engine).pipe(connection);
      } else if (way === 'proxy') answerProxy(connection);
      else if (host === 'allowed.example') connection.end('HTTP/1.1 200 OK\r\ncontent-length: 7\r\n\r\nby name');
      else if (host === 'code.example' && ssh !== null) {
        const server = connect({ port: ssh.port, host: '127.0.0.1' });
        server.on('error', () => connection.destroy());
        connection.pipe(server).pipe(connection);
      } else connection.destroy();
    });
    return {
      socket,
      authority: null,
      gitSignIns: [],
      ssh: ssh?.files ?? null,
      close: async () => {
        closed.push(bot.start);
        await close();
      },
    };
  };
  return { opened, closed, openNetwork };
}

function answerProxy(connection: Socket): void {
  connection.once('data', (piece: Buffer) => {
    const isAllowed = piece.toString('latin1').startsWith('GET http://allowed.example/');
    const text = isAllowed ? 'by proxy' : 'web@dev may not reach it.';
    connection.end(
      `HTTP/1.1 ${isAllowed ? '200 OK' : '403 Forbidden'}\r\ncontent-length: ${text.length}\r\n\r\n${text}`,
    );
  });
  connection.resume();
}

async function up(engine: Engine, team: string, body: unknown = {}) {
  return engine.call<Refused & { plan: { reason: string }[] }>('POST', `/teams/${team}/up`, body);
}

async function start(engine: Engine, team: string, text: string): Promise<string> {
  engine.team(team, text);
  expect(await up(engine, team)).toMatchObject({ status: 200 });
  await engine.until(`web@${team}`, 'idle');
  return `web@${team}`;
}

let runs = 0;
/** Runs lines in the bot's shell; answers what they printed. */
async function inside(engine: Engine, address: string, lines: readonly string[]): Promise<string> {
  runs += 1;
  const [script, out] = [`probe-${runs}.sh`, `out-${runs}`];
  engine.slipIn(script, `${lines.join('\n')}\n`);
  const there = join(engine.workspace, out);
  const text = `sh ${join(engine.workspace, script)} > ${there}.part 2>&1; mv ${there}.part ${there}`;
  await engine.call('POST', `/agents/${address}/input`, { text, keys: ['Enter'] });
  await waitFor(
    async () => existsSync(there),
    (done) => done,
  );
  return readFileSync(there, 'utf8');
}

describe.skipIf(!works)('where a network of its own can be made', () => {
  test('a closed bot reaches what is allowed with a proxy and without, hears what is not, and nothing else', async () => {
    const { openNetwork } = decider();
    const engine = await startEngine({ openNetwork });
    const to = await start(engine, 'dev', shell());
    expect(await engine.agent(to)).toMatchObject({ sandbox: 'closed' });
    const probe = [
      'curl -sS http://allowed.example/; echo',
      'curl -sS --noproxy "*" http://allowed.example/; echo',
      'curl -sS http://other.example/; echo',
      'curl -sS --noproxy "*" http://other.example/ >/dev/null 2>&1; echo $?',
      'curl -sS --noproxy "*" -m 5 http://93.184.216.34/ >/dev/null 2>&1; echo $?',
      'curl -sS --noproxy "*" -m 5 http://allowed.example:81/ >/dev/null 2>&1; echo $?',
      `[ -e ${engine.home}/run/sandboxes ] && echo sees; find / -name "*.sock" -not -path "/proc/*" 2>/dev/null | head`,
      // A kind of socket that belongs to no network.
      'perl -e "use Socket; socket(my \\$s, 40, SOCK_STREAM, 0) or print \\"no vsock\\n\\""',
    ];
    expect((await inside(engine, to, probe)).split('\n')).toEqual([
      'by proxy',
      'by name',
      'web@dev may not reach it.',
      ...['52', '7', '7'].map((code) => expect.stringMatching(new RegExp(`^(?:${code}|56)$`))),
      'no vsock',
      '',
    ]);
  });

  test('it takes messages and calls Gantry, and Ctrl-C ends its command but not the bot', async () => {
    const { openNetwork } = decider();
    const engine = await startEngine({ openNetwork });
    const to = await start(engine, 'dev', shell());
    const sent = await engine.call<Delivery>('POST', '/send', { to, text: 'echo hello-$((40+2))' });
    expect(sent.body).toMatchObject({ state: 'verified' });
    const call =
      'curl -sS -H "authorization: Bearer $(cat $GANTRY_TOKEN_FILE)" "$(cat $GANTRY_URL_FILE)/api/factory/agents"';
    expect(await inside(engine, to, [call])).toContain('"web@dev"');
    expect(await inside(engine, to, [`${programCommand('cli').join(' ')} agents ls`])).toContain('web@dev');
    await keepBusy(engine, to);
    await engine.call('POST', `/agents/${to}/input`, { keys: ['C-c'] });
    await engine.until(to, 'idle');
    await keepBusy(engine, to);
    await engine.call('POST', `/agents/${to}/input`, { keys: ['C-z'] });
    await engine.until(to, 'idle');
    expect(await inside(engine, to, ['echo still here'])).toBe('still here\n');
  });

  test('what its team file names is told to who decides, with its repository’s remotes', async () => {
    const { opened, closed, openNetwork } = decider();
    const engine = await startEngine({ openNetwork });
    const git = (...args: string[]) =>
      runProcess({ command: ['git', '-C', engine.workspace, ...args], deadlineMs: 20_000 });
    await git('init', '-q');
    await git('remote', 'add', 'origin', 'ssh://git@code.example.org:2222/team/web.git');
    await git('remote', 'add', 'mirror', 'git@mirror.example.org:web.git');
    await git('remote', 'add', 'disk', '/srv/web.git');
    const network = '    network: { presets: [packages, remote], ports: [5432] }\n';
    await start(engine, 'dev', shell(network, 'network: { presets: [agent], ports: [6379] }\n'));
    expect(opened).toMatchObject([
      {
        address: 'web@dev',
        presets: ['packages', 'remote'],
        apis: [],
        remotes: ['mirror.example.org:22', 'code.example.org:2222'],
        ports: [6379, 5432],
        enginePort: Number(new URL(engine.url).port),
      },
    ]);
    await engine.call('POST', '/teams/dev/down');
    await waitFor(
      async () => closed,
      (starts) => starts.includes(opened[0]?.start ?? ''),
    );
  });

  test('its programs trust the authority that its person’s variable names, in a file that the sandbox does not show', async () => {
    const company = join(scratchFolder(), 'company.pem');
    writeFileSync(company, 'of the company\n');
    const { openNetwork } = decider();
    const engine = await startEngine({ openNetwork, env: { PATH: path, NODE_EXTRA_CA_CERTS: company } });
    const to = await start(engine, 'dev', shell());
    const said = await inside(engine, to, [
      `[ -e ${company} ] && echo shown`,
      'cat "$NODE_EXTRA_CA_CERTS"',
      'tail -n 1 "$SSL_CERT_FILE"',
    ]);
    expect(said).toBe('of the company\nof the company\n');
  });

  test.skipIf(!hasSsh)(
    'its git signs in by SSH with a key that is not in its sandbox, and it knows that host',
    async () => {
      const key = await newSshKey();
      const { port, known, place } = await startSshServer([key], 'code.example');
      const folder = join(scratchFolder(), 'ssh');
      mkdirSync(folder);
      const files = { folder, socket: join(folder, 's'), knownHosts: join(folder, 'known_hosts') };
      writeFileSync(files.knownHosts, known);
      const agent = await startSshAgent({ ...files, keys: [{ name: 'DEPLOY_KEY', value: key.secret, place }] });
      onEnd(() => agent.end());
      const repository = join(scratchFolder(), 'web.git');
      const git = (...args: string[]) => runProcess({ command: ['git', ...args], deadlineMs: 20_000 });
      await git('init', '-q', '--bare', repository);
      const { openNetwork } = decider({ files, port });
      const engine = await startEngine({ openNetwork });
      const to = await start(engine, 'dev', shell());
      const said = await inside(engine, to, [
        `cd /tmp && git init -q work && cd work && git -c user.name=web -c user.email=web@example.org commit -q --allow-empty -m first`,
        `git push -q code.example:${repository} HEAD:refs/heads/main && echo pushed`,
        `grep -rlFs --exclude='probe-*' "${key.secret.split('\n')[2]}" /tmp /etc /root /home ${folder} | head`,
        'ssh-add -D >/dev/null 2>&1 || echo kept',
        `(echo "*" > ${files.knownHosts}) 2>/dev/null || echo read-only`,
      ]);
      expect(said).toBe('pushed\nkept\nread-only\n');
      expect((await git('--git-dir', repository, 'log', '--format=%s', 'main')).stdout.trim()).toBe('first');
    },
  );

  test('after a restart of Gantry it runs on, and its connections are decided again', async () => {
    const { opened, openNetwork } = decider();
    const engine = await startEngine({ openNetwork });
    const to = await start(engine, 'dev', shell('    network: { presets: [packages] }\n'));
    await engine.restart();
    await waitFor(
      async () => opened.length,
      (count) => count === 2,
    );
    const [before, after] = opened;
    expect(after).toEqual({ ...before, enginePort: Number(new URL(engine.url).port) });
    expect(await engine.agent(to)).toMatchObject({ sandbox: 'closed', state: 'idle' });
  });

  test('a trial from inside closes its own network, also when it fails, and the bot keeps the one it has', async () => {
    const bin = scratchFolder();
    const bwrap = path.split(':').find((folder) => existsSync(join(folder, 'bwrap')));
    writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\n[ -e ${bin}/broken ] && exit 9\nexec ${bwrap}/bwrap "$@"\n`, {
      mode: 0o755,
    });
    const { opened, closed, openNetwork } = decider();
    const engine = await startEngine({ openNetwork, env: { PATH: `${bin}:${path}` } });
    const to = await start(engine, 'dev', shell());
    const tryIt = async () => (await engine.call<{ bots: TriedSandbox[] }>('GET', '/teams/dev/sandbox')).body.bots;
    expect(await tryIt()).toMatchObject([{ agent: to, sandbox: 'closed', trouble: null }]);
    const [running, tried] = opened.map(({ start }) => start);
    expect(closed).toEqual([tried]);
    expect(tried).not.toBe(running);
    writeFileSync(join(bin, 'broken'), '');
    expect(await tryIt()).toMatchObject([{ trouble: expect.stringContaining('could not be tried') }]);
    expect(closed).toEqual([tried, opened[2]?.start]);
    expect(await inside(engine, to, ['curl -sS http://allowed.example/'])).toBe('by proxy');
  });

  test('two trials of one bot at once, and one while it starts, leave each other’s network open', async () => {
    const bin = scratchFolder();
    const bwrap = path.split(':').find((folder) => existsSync(join(folder, 'bwrap')));
    // The first that finds `hold` waits for `go`.
    const waits = `mv ${bin}/hold ${bin}/held 2>/dev/null && while [ ! -e ${bin}/go ]; do sleep 0.05; done`;
    writeFileSync(join(bin, 'bwrap'), `#!/bin/sh\n${waits}\nexec ${bwrap}/bwrap "$@"\n`, { mode: 0o755 });
    const { opened, closed, openNetwork } = decider();
    const begun = Promise.withResolvers<void>();
    const engine = await startEngine({
      env: { PATH: `${bin}:${path}` },
      async openNetwork(bot) {
        const network = await openNetwork(bot);
        if (opened.length === 1) await begun.promise;
        return network;
      },
    });
    const tryIt = async () => (await engine.call<{ bots: TriedSandbox[] }>('GET', '/teams/dev/sandbox')).body.bots;
    engine.team('dev', shell());
    const starting = up(engine, 'dev');
    await waitFor(() => opened.length, Boolean);
    expect(await tryIt()).toMatchObject([{ sandbox: 'closed', trouble: null }]);
    expect(closed).toEqual([opened[1]?.start]);
    begun.resolve();
    expect(await starting).toMatchObject({ status: 200 });
    await engine.until('web@dev', 'idle');
    writeFileSync(join(bin, 'hold'), '');
    const slow = tryIt();
    await waitFor(() => existsSync(join(bin, 'held')), Boolean);
    expect(await tryIt()).toMatchObject([{ trouble: null }]);
    expect(closed).toEqual([opened[1]?.start, opened[3]?.start]);
    writeFileSync(join(bin, 'go'), '');
    expect(await slow).toMatchObject([{ trouble: null }]);
    expect(closed).toEqual([1, 3, 2].map((at) => opened[at]?.start));
    expect(await inside(engine, 'web@dev', ['curl -sS http://allowed.example/'])).toBe('by proxy');
  });

  test('the network of a bot whose restart fails is closed', async () => {
    const { opened, closed, openNetwork } = decider();
    const engine = await startEngine({ openNetwork });
    const to = await start(engine, 'dev', shell());
    engine.panes.revive = () => Promise.reject(new AppError('refused', 'No pane is left.', 'Close one.'));
    process.kill(JSON.parse(readFileSync(hostFiles(engine.home).lock, 'utf8')).pid as number, 'SIGKILL');
    const gone = await engine.until(to, 'offline');
    expect(gone.stateReason).toContain('it could not be restarted: No pane is left.');
    expect(opened).toHaveLength(2);
    expect(closed).toEqual(opened.map((bot) => bot.start));
  });

  test('the network of an agent over ACP closes with its process, also when that cannot be spoken with', async () => {
    const { opened, closed, openNetwork } = decider();
    const engine = await startEngine({ openNetwork });
    const folder = join(scratchFolder(), 'project');
    mkdirSync(folder);
    const read = [dirname(standIn), resolve(import.meta.dirname, '../../../node_modules'), dirname(process.execPath)];
    const acp = (bot: string, command: string) =>
      `bots:\n  - bot: ${bot}\n    harness: acp\n    command: ${command}\n    cwd: ${folder}\n    sandbox: closed\n    sees: { read: [${[...new Set(read)].join(', ')}] }\n`;
    engine.team('good', acp('dev', `${process.execPath} ${standIn}`));
    expect(await up(engine, 'good')).toMatchObject({ status: 200 });
    await engine.until('dev@good', 'idle');
    expect(opened).toMatchObject([{ address: 'dev@good' }]);
    expect(closed).toEqual([]);
    await engine.call('POST', '/teams/good/down');
    await waitFor(
      async () => closed,
      (starts) => starts.length > 0,
    );
    expect(closed).toEqual([opened[0]?.start]);
    engine.team('bad', acp('dev', '/usr/bin/false'));
    expect(await up(engine, 'bad')).toMatchObject({ status: 200 });
    await engine.until('dev@bad', 'failed');
    expect(opened).toMatchObject([{ address: 'dev@good' }, { address: 'dev@bad' }]);
    expect(closed).toEqual(opened.map(({ start }) => start));
  });

  test('a file that waits for a yes closes a bot at once, and opens none', async () => {
    const { opened, openNetwork } = decider();
    const engine = await startEngine({ openNetwork });
    engine.team('dev', 'bots:\n  - bot: web\n    harness: shell\n    sandbox: files\n');
    await engine.agree();
    engine.slipIn('.gantry/policy.yaml', 'sandbox: closed\n');
    expect((await up(engine, 'dev')).body.plan[0]?.reason).toContain('in the sandbox "closed"');
    expect(opened[0]?.presets).toEqual(['agent']);
    await engine.agree();
    engine.slipIn('.gantry/policy.yaml', 'sandbox: files\n');
    await engine.call('POST', '/teams/dev/down');
    expect((await up(engine, 'dev', { dryRun: true })).body.plan[0]?.reason).toContain('in the sandbox "closed"');
  });

  test('a program that Gantry calls is not started where it could not be called', async () => {
    const bin = scratchFolder();
    const { openNetwork } = decider();
    const engine = await startEngine({ openNetwork, env: { PATH: `${bin}:${path}` } });
    writeFileSync(join(bin, 'opencode'), '#!/bin/sh\necho 1.0.0\n', { mode: 0o755 });
    engine.team('dev', 'bots:\n  - { bot: web, harness: opencode, sandbox: closed }\n');
    const { status, body } = await up(engine, 'dev');
    expect(status).toBe(400);
    expect(body.error.fact).toContain('Gantry drives opencode through a server in it');
  });

  describe('a team file that does not say what its bots run in', () => {
    const silent = '# mine\nname: dev\nbots:\n  - { bot: web, harness: shell } # the first\n';
    const asked = (engine: Engine, team: string, body: object = {}) =>
      engine.call<{ sandbox?: SandboxQuestion; plan: { reason: string }[] }>('POST', `/teams/${team}/up`, {
        dryRun: true,
        ...body,
      });
    const file = (engine: Engine, team: string) => join(engine.workspace, '.gantry', 'teams', team, 'team.yaml');
    const textOf = (engine: Engine, team: string) => readFileSync(file(engine, team), 'utf8');

    test('gets the strictest suggested; the answer becomes its line, needs no other yes and holds', async () => {
      const { opened, openNetwork } = decider();
      const engine = await startEngine({ openNetwork });
      engine.team('dev', silent);
      const path = '.gantry/teams/dev/team.yaml';
      expect((await asked(engine, 'dev')).body.sandbox).toEqual({ file: path, suggests: 'closed', why: null });
      const planned = (await asked(engine, 'dev', { sandbox: 'closed' })).body;
      expect(planned.plan[0]?.reason).toContain('in the sandbox "closed"');
      expect(textOf(engine, 'dev')).toBe(silent);
      expect((await up(engine, 'dev', { sandbox: 'closed' })).body.plan[0]?.reason).toContain('"closed"');
      expect(opened).toMatchObject([{ address: 'web@dev' }]);
      expect(textOf(engine, 'dev')).toBe(silent.replace('bots:', 'sandbox: closed\nbots:'));
      expect((await asked(engine, 'dev')).body).not.toHaveProperty('sandbox');
      await engine.call('POST', '/teams/dev/down');
      expect((await up(engine, 'dev')).body.plan[0]?.reason).toContain('in the sandbox "closed"');
      const twice = await up(engine, 'dev', { sandbox: 'none' });
      expect([twice.status, twice.body.error.fact]).toEqual([
        400,
        'The file of team dev already says what its bots run in.',
      ]);
    });

    test('stays as it is, and its bots run in none, where its person starts it without an answer or the start fails', async () => {
      const { opened, openNetwork } = decider();
      const engine = await startEngine({ openNetwork, env: { PATH: path } });
      engine.team('dev', silent);
      expect((await up(engine, 'dev')).status).toBe(200);
      expect(opened).toEqual([]);
      expect(textOf(engine, 'dev')).toBe(silent);
      // A folder in which a sandbox would hide nothing.
      const bare = 'bots:\n  - { bot: web, harness: shell, cwd: / }\n';
      engine.team('bare', bare);
      expect((await asked(engine, 'bare')).body).not.toHaveProperty('sandbox');
      expect((await up(engine, 'bare', { sandbox: 'files' })).status).toBe(400);
      expect(textOf(engine, 'bare')).toBe(bare);
    });

    test('gets less suggested, with the reason, for a program that cannot be closed and for a model on this computer', async () => {
      const bin = scratchFolder();
      for (const name of ['opencode', 'claude']) {
        writeFileSync(join(bin, name), '#!/bin/sh\necho 1.0.0\n', { mode: 0o755 });
      }
      const engine = await startEngine({ openNetwork: decider().openNetwork, env: { PATH: `${bin}:${path}` } });
      engine.team('served', 'bots:\n  - { bot: web, harness: opencode }\n');
      expect((await asked(engine, 'served')).body.sandbox).toMatchObject({
        suggests: 'files',
        why: expect.stringContaining('Gantry drives opencode through a server in it'),
      });
      for (const url of ['http://127.0.0.1:4000', 'http://localhost:4000/v1', 'http://[::1]:4000', 'http://10.0.0.7']) {
        engine.team('near', `bots:\n  - { bot: web, harness: claude, env: { ANTHROPIC_BASE_URL: "${url}" } }\n`);
        await engine.agree();
        expect((await asked(engine, 'near')).body.sandbox).toMatchObject({
          suggests: 'files',
          why: expect.stringContaining('ANTHROPIC_BASE_URL names a model on this computer or in your network'),
        });
      }
      const far = '{ ANTHROPIC_BASE_URL: "https://models.example.com" }';
      engine.team('near', `bots:\n  - { bot: web, harness: claude, env: ${far} }\n`);
      await engine.agree();
      expect((await asked(engine, 'near')).body.sandbox).toMatchObject({ suggests: 'closed', why: null });
    });

    test('is not asked about where a bot, a preset or the workspace says it, or no bot has a terminal', async () => {
      const engine = await startEngine({ openNetwork: decider().openNetwork });
      engine.team('one', 'bots:\n  - { bot: a, harness: shell, sandbox: none }\n  - { bot: b, harness: shell }\n');
      engine.team(
        'preset',
        'bots:\n  - { bot: a, harness: shell }\npresets: { tight: { bots: { a: { sandbox: files } } } }\n',
      );
      engine.team('hosted', 'bots:\n  - { bot: a, binding: hosted, model: test/one }\n');
      for (const team of ['one', 'preset', 'hosted']) {
        expect((await asked(engine, team)).body, team).not.toHaveProperty('sandbox');
      }
      engine.team('dev', silent);
      engine.slipIn('.gantry/policy.yaml', 'sandbox: files\n');
      expect((await asked(engine, 'dev')).body).not.toHaveProperty('sandbox');
    });
  });
});
