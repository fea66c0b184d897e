/** Bots in terminals with `sandbox: files`: what they see and change, who may loosen it, and what happens where it cannot be had. */
import {
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
import { describe, expect, test } from 'vitest';
import type { Delivery } from '../../../src/contracts/factory/delivery.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { runProcess } from '../../../src/kit/process/run-process.ts';
import { findBubblewrap } from '../../../src/kit/sandbox/bubblewrap.ts';
import { hostFiles } from '../../../src/programs/pane-host/protocol.ts';
import { createBotSandboxes } from '../../../src/runtime-server/agents/bot-sandboxes.ts';
import { createExecutor, type ExecutorDeps } from '../../../src/runtime-server/agents/executor.ts';
import type { BotSpec } from '../../../src/runtime-server/harness/harness.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { installStandInClaude } from '../../support/stand-in-claude/install.ts';
import { type Engine, keepBusy, sharedEngine, startEngine, waitFor } from '../engine.ts';

const found = await findBubblewrap({
  path: process.env.PATH ?? '',
  sandbox: { mounts: [{ at: '/', shows: 'read' }], network: 'host', terminal: 'none', ends: 'with-parent', cwd: '/' },
});
const works = typeof found !== 'string';

const shell = (more = '', team = '') => `${team}bots:\n  - bot: web\n    harness: shell\n${more}`;
const files = '    sandbox: files\n';
const userHome = (engine: Engine) => join(engine.home, '..', 'user');
interface Refused {
  readonly error: { readonly code: string; readonly fact: string; readonly action: string };
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

describe.skipIf(!works)('where bubblewrap works', () => {
  const shared = sharedEngine();

  test('a bot sees its folder and the system, and of your home nothing but what its file names', async () => {
    const engine = shared.current;
    const home = userHome(engine);
    for (const folder of ['.ssh', 'notes', 'shared']) mkdirSync(join(home, folder), { recursive: true });
    for (const file of ['.ssh/id', 'notes/one', 'shared/two']) writeFileSync(join(home, file), `content of ${file}`);
    const sees = `    sees: { read: [~/notes], write: [~/shared] }\n`;
    const probe = [
      `for file in ~/.ssh/id ${engine.home}/runtime.db ~/notes/one ~/shared/two; do [ -r $file ] && echo "sees $file"; done`,
      'for file in ~/notes/new ~/shared/new .gantry/new mine; do { echo > $file; } 2>/dev/null && echo "writes $file"; done',
      'ls ~ | sort | tr "\\n" " "; echo',
      'ps -e 2>/dev/null | grep -c node',
    ];
    const confined = await start(engine, 'held', shell(files + sees));
    expect(await engine.agent(confined)).toMatchObject({ sandbox: 'files' });
    expect((await inside(engine, confined, probe)).split('\n')).toEqual([
      `sees ${home}/notes/one`,
      `sees ${home}/shared/two`,
      `writes ${home}/shared/new`,
      'writes mine',
      'notes shared ',
      '0',
      '',
    ]);

    const open = await start(engine, 'open', shell());
    expect((await engine.agent(open)).sandbox).toBeUndefined();
    const seen = await inside(engine, open, probe);
    expect(seen).toContain(`sees ${home}/.ssh/id`);
    expect(seen).toContain(`sees ${engine.home}/runtime.db`);
    expect(seen).toContain('writes .gantry/new');
  });

  test('a bot in a sandbox takes messages and reports, and Ctrl-C ends its command but not the bot', async () => {
    const engine = shared.current;
    const to = await start(engine, 'worker', shell(files));
    const sent = await engine.call<Delivery>('POST', '/send', { to, text: 'echo hello-$((40+2))' });
    expect(sent.body).toMatchObject({ state: 'verified' });
    expect(
      await inside(engine, to, ['gantry --version >/dev/null 2>&1; [ -r "$GANTRY_TOKEN_FILE" ] && echo token']),
    ).toBe('token\n');
    await keepBusy(engine, to);
    await engine.call('POST', `/agents/${to}/input`, { keys: ['C-c'] });
    await engine.until(to, 'idle');
    expect(await inside(engine, to, ['echo still here'])).toBe('still here\n');
  });

  test('its own folder of settings cannot be changed from inside, nor the file that names its runtime', async () => {
    const engine = shared.current;
    const to = await start(engine, 'settings', shell(files));
    const probe = [
      'for f in "$GANTRY_TOKEN_FILE" "$GANTRY_URL_FILE"; do { echo x > "$f"; } 2>/dev/null || echo refused; done',
      'touch "$GANTRY_SPOOL/x" && echo spool',
    ];
    expect(await inside(engine, to, probe)).toBe('refused\nrefused\nspool\n');
  });

  test('a sandbox that the team or the workspace wants holds for each bot, whatever the bot asks for', async () => {
    const engine = shared.current;
    const byTeam = await start(engine, 'byteam', shell('    sandbox: none\n', 'sandbox: files\n'));
    expect(await engine.agent(byTeam)).toMatchObject({ sandbox: 'files' });
    engine.team('strict', shell());
    await engine.agree();
    // Nobody agreed to it yet: a file may make things stricter at once.
    engine.slipIn('.gantry/policy.yaml', 'sandbox: files\n');
    const answer = await up(engine, 'strict');
    expect(answer.body.plan[0]?.reason).toContain('in the sandbox "files"');
    expect(await engine.agent('web@strict')).toMatchObject({ sandbox: 'files' });
    await engine.agree();
    // Taking it away waits for a yes.
    engine.slipIn('.gantry/policy.yaml', 'rules: []\n');
    await engine.call('POST', '/teams/strict/down');
    expect((await up(engine, 'strict', { dryRun: true })).body.plan?.[0]?.reason).toContain('in the sandbox "files"');
    await engine.agree();
    expect((await up(engine, 'strict', { dryRun: true })).body.plan?.[0]?.reason).not.toContain('sandbox');
  });

  test('over its memory the largest process is ended, a bot that is smaller goes on, and that is told', async () => {
    const engine = shared.current;
    const to = await start(engine, 'capped', shell(`${files}    caps: { memory: 128MiB, processes: 64 }\n`));
    const caps = async () => (await engine.agent(to)).caps;
    const held = expect.stringMatching(/^(?:cgroup|watched)$/);
    expect(await caps()).toEqual([
      { what: 'memory', limit: 128, heldBy: held, hits: 0, last: null },
      { what: 'processes', limit: 64, heldBy: held, hits: 0, last: null },
    ]);
    // A line without an end is kept whole.
    await engine.call('POST', `/agents/${to}/input`, { text: 'cat /dev/zero | tail', keys: ['Enter'] });
    const told = await waitFor(caps, (now) => (now?.[0]?.hits ?? 0) > 0);
    expect(told?.[0]?.last).not.toBeNull();
    await engine.until(to, 'idle');
    expect(await inside(engine, to, ['echo still here'])).toBe('still here\n');
  });

  test('a bot that is over its memory itself is ended, and its state says why', async () => {
    const engine = shared.current;
    const to = await start(engine, 'greedy', shell(`${files}    caps: { memory: 64MiB }\n`));
    await engine.call('POST', `/agents/${to}/input`, { text: 'exec tail /dev/zero', keys: ['Enter'] });
    const { stateReason } = await engine.until(to, 'failed');
    expect(stateReason).toMatch(/^the program .*: it was over its 64 MiB of memory$/);
  });

  test('what still writes over the disk that a bot may fill is ended, a bot that does not goes on, and that is told', async () => {
    const engine = shared.current;
    const to = await start(engine, 'filling', shell(`${files}    caps: { disk: 16MiB, processor: 1.5 }\n`));
    const caps = async () => (await engine.agent(to)).caps;
    expect(await caps()).toEqual([
      { what: 'processor', limit: 1.5, heldBy: expect.stringMatching(/^(?:cgroup|nothing)$/), hits: 0, last: null },
      { what: 'disk', limit: 16, heldBy: 'watched', hits: 0, last: null },
    ]);
    // About as fast on any disk, and it ends.
    const text = '(for i in $(seq 9999); do printf %65536s; sleep 0.01; done) > filling.bin';
    await engine.call('POST', `/agents/${to}/input`, { text, keys: ['Enter'] });
    const told = await waitFor(caps, (now) => (now?.[1]?.hits ?? 0) > 1);
    expect(told?.[1]?.last).not.toBeNull();
    await engine.until(to, 'idle');
    expect(await inside(engine, to, ['rm filling.bin; echo still here'])).toBe('still here\n');
  });

  test('a bot whose folder contains your home is not started, since nothing would be hidden', async () => {
    const engine = shared.current;
    engine.team('broad', shell(`${files}    cwd: ${join(engine.home, '..')}\n`));
    const { status, body } = await up(engine, 'broad');
    expect([status, body.error.code]).toEqual([400, 'usage']);
    expect(body.error.fact).toContain('would hide nothing');
  });

  test('a path to see that does not exist, or that lies in Gantry’s own folder, is refused by name', async () => {
    const engine = shared.current;
    for (const path of ['/no/such/place', join(engine.home, 'run')]) {
      engine.team('sees', shell(`${files}    sees: { read: ["${path}"] }\n`));
      expect((await up(engine, 'sees')).body.error.fact).toContain(path);
    }
  });

  test.each(['the workspace', 'another repository'])(
    'in a worktree of %s it commits under your name, and cannot change what git runs',
    async (where) => {
      const engine = await startEngine();
      const repository = where === 'the workspace' ? engine.workspace : realpathSync(scratchFolder());
      const git = (...args: string[]) =>
        runProcess({
          command: ['git', '-C', repository, ...args],
          env: { PATH: process.env.PATH ?? '', HOME: userHome(engine) },
          deadlineMs: 20_000,
        });
      writeFileSync(join(userHome(engine), '.gitconfig'), '[user]\n\tname = Ada\n\temail = ada@example.org\n');
      await git('init', '-q');
      await git('commit', '-q', '--allow-empty', '-m', 'first');
      // As where git has no templates: the bot would make them.
      rmSync(join(repository, '.git/hooks'), { recursive: true, force: true });
      const to = await start(engine, 'tree', shell(`${files}    worktree: true\n    cwd: ${repository}\n`));
      await engine.call('POST', `/agents/${to}/input`, {
        text: 'date > file; git add file; git commit -qm second; env -u GIT_CONFIG_GLOBAL git commit -q --allow-empty -m without; echo x >> "$(git rev-parse --git-common-dir)/config" || echo kept > done; git add done; git commit -qm third',
        keys: ['Enter'],
      });
      const shown = await waitFor(
        async () => (await git('log', '--all', '--format=%an %s')).stdout,
        (text) => text.includes('third'),
      );
      expect(shown).toContain('Ada second');
      expect(shown).toContain('Ada without');
      await engine.until(to, 'idle');
      const hooks = '"$(git rev-parse --git-common-dir)/hooks"';
      await engine.call('POST', `/agents/${to}/input`, {
        text: `mkdir -p ${hooks}; echo x > ${hooks}/pre-commit || git commit -qm refused --allow-empty`,
        keys: ['Enter'],
      });
      await waitFor(
        async () => (await git('log', '--all', '--format=%s')).stdout,
        (text) => text.includes('refused'),
      );
      expect(readdirSync(join(repository, '.git/hooks'))).toEqual([]);
    },
  );

  test('an agent program takes a message with a witness, and its conversation is kept in its own folder', async () => {
    const bin = installStandInClaude(join(scratchFolder(), 'bin'));
    const engine = await startEngine({ env: { PATH: `${bin}:${process.env.PATH}` } });
    engine.team('ai', 'bots:\n  - { bot: web, harness: claude, sandbox: files }\n');
    expect(await up(engine, 'ai')).toMatchObject({ status: 200 });
    await engine.until('web@ai', 'idle');
    const sent = await engine.call<Delivery>('POST', '/send', { to: 'web@ai', text: 'hello' });
    expect(sent.body).toMatchObject({ state: 'verified', evidence: expect.stringMatching(/^(?:hook|transcript)$/) });
    await engine.until('web@ai', 'idle');
    expect(readdirSync(join(userHome(engine), '.claude', 'projects'))).toHaveLength(1);
  });

  test('a team file that waits for a yes makes a bot stricter at its next restart, and never looser', async () => {
    const engine = await startEngine();
    const to = await start(engine, 'pulled', shell());
    engine.slipIn('.gantry/teams/pulled/team.yaml', shell(files));
    const hostPid = () => JSON.parse(readFileSync(hostFiles(engine.home).lock, 'utf8')).pid as number;
    const restarted = async () => {
      const pid = hostPid();
      process.kill(pid, 'SIGKILL');
      await waitFor(
        () => engine.agent(to),
        ({ state, stateReason }) =>
          state === 'idle' && stateReason?.includes('restarted') === true && hostPid() !== pid,
      );
    };
    await engine.call('GET', '/teams');
    await restarted();
    expect(await engine.agent(to)).toMatchObject({ sandbox: 'files' });
    const secret = join(userHome(engine), 'secret');
    writeFileSync(secret, 'x');
    expect(await inside(engine, to, [`[ -e ${secret} ] && echo seen || echo unseen`])).toBe('unseen\n');
    // The runtime forgets nothing of it when it starts again.
    await engine.restart();
    expect(await engine.agent(to)).toMatchObject({ sandbox: 'files' });
    engine.slipIn('.gantry/teams/pulled/team.yaml', shell());
    await engine.call('GET', '/teams');
    expect(await inside(engine, to, [`[ -e ${secret} ] && echo seen || echo unseen`])).toBe('unseen\n');
  });

  test('a bot whose folder would hide nothing, or leads elsewhere by now, is not restarted in its sandbox', async () => {
    const engine = await startEngine();
    const sub = join(engine.workspace, 'sub');
    mkdirSync(sub);
    const open = await start(engine, 'broad', shell(`    cwd: ${join(engine.home, '..')}\n`));
    const moved = await start(engine, 'moved', shell(`${files}    cwd: ${sub}\n`));
    engine.slipIn('.gantry/policy.yaml', 'sandbox: files\n');
    rmSync(sub, { recursive: true });
    mkdirSync(join(engine.workspace, 'other'));
    symlinkSync(join(engine.workspace, 'other'), sub);
    await engine.call('GET', '/teams');
    process.kill(JSON.parse(readFileSync(hostFiles(engine.home).lock, 'utf8')).pid as number, 'SIGKILL');
    const reason = async (to: string) => {
      const { stateReason } = await waitFor(
        () => engine.agent(to),
        ({ state, stateReason: why }) => state === 'offline' || why?.includes('could not be restarted') === true,
      );
      return stateReason;
    };
    expect(await reason(open)).toContain('would hide nothing');
    expect(await reason(moved)).toContain(`leads to ${join(engine.workspace, 'other')} now`);
  });
});

/** None is asked for. */
const networks = { missing: () => 'none', trial: (command: never) => command, open: () => Promise.reject() };

/** A computer of folders only: what a bot's sandbox would show there. */
function place(given: { gantryAt?: string; userAt?: string } = {}) {
  const root = scratchFolder();
  const [home, userHome, workspace] = [given.gantryAt ?? 'home', given.userAt ?? 'user', 'work'].map((name) =>
    join(root, name),
  ) as [string, string, string];
  const folder = join(home, 'run/bots/a');
  for (const each of [folder, userHome, workspace]) mkdirSync(each, { recursive: true });
  const sandboxes = createBotSandboxes({
    clock: systemClock,
    ids: createIds(systemClock),
    log: { warn: () => {} },
    home,
    userHome,
    env: { PATH: process.env.PATH, HOME: userHome },
    policy: { sandbox: () => 'none' },
    caps: { make: () => [] },
    networks,
  });
  const paths = { urlFile: join(home, 'run/url'), tokenFile: join(folder, 'token'), workspace, gantry: [], folder };
  const specOf = (more: Partial<BotSpec> = {}): BotSpec => ({
    ...{ agentId: 'a', slug: 'web', team: 'dev', harness: 'claude', model: null, command: null, culture: null },
    cwd: workspace,
    env: {},
    sandbox: { mode: 'files', read: [], write: [] },
    ...more,
  });
  const shown = async (
    spec: BotSpec,
    by: Pick<typeof sandboxes, 'confine'> = sandboxes,
    program = '/bin/true',
  ): Promise<readonly string[]> => {
    const env = { PATH: '/usr/bin', ...spec.env };
    const launch = { command: [program], cwd: spec.cwd, env, cols: 80, rows: 24 } as const;
    return (await by.confine(spec, launch, paths)).command;
  };
  return { root, home, userHome, workspace, sandboxes, specOf, shown };
}

test.skipIf(!works)('a bot of another computer sees no path that its own file or its variables name', async () => {
  const { userHome, sandboxes, specOf, shown } = place();
  const [notes, secret] = [join(userHome, 'notes'), join(userHome, 'secret')];
  for (const each of [notes, secret]) mkdirSync(each);
  const spec = specOf({ env: { CLAUDE_CONFIG_DIR: secret }, sandbox: { mode: 'files', read: [notes], write: [] } });
  expect(await shown(spec)).toContain(notes);
  const guest = await shown(spec, sandboxes.forGuests());
  expect(guest).not.toContain(notes);
  expect(guest).not.toContain(secret);
});

test.skipIf(!works)(
  'no link shows Gantry’s own folder: what leads there or around it is refused, and it is covered',
  async () => {
    const { root, home, sandboxes, specOf, shown } = place({ gantryAt: 'data/gantry' });
    const sees = (path: string) => specOf({ sandbox: { mode: 'files', read: [path], write: [] } });
    const [into, around] = [join(root, 'into'), join(root, 'around')];
    symlinkSync(join(home, 'run'), into);
    symlinkSync(join(root, 'data'), around);
    expect(() => sandboxes.check(sees(into))).toThrow('in Gantry’s own folder');
    expect(() => sandboxes.check(sees(around))).toThrow('contains Gantry’s own folder');
    // Also where the link came after its team was started.
    await expect(shown(sees(around))).rejects.toThrow('contains Gantry’s own folder');
    const plain = await shown(sees(join(root, 'data')));
    expect(plain[plain.indexOf(home) - 1]).toBe('--tmpfs');
  },
);

test.skipIf(!works)('a GANTRY_HOME that is a link is covered where it leads too', async () => {
  const { root, specOf, shown } = place();
  const linked = join(root, 'linked');
  symlinkSync(join(root, 'home'), linked);
  const by = createBotSandboxes({
    ...{
      clock: systemClock,
      ids: createIds(systemClock),
      log: { warn: () => {} },
      home: linked,
      userHome: join(root, 'user'),
    },
    env: { PATH: process.env.PATH },
    policy: { sandbox: () => 'none' },
    caps: { make: () => [] },
    networks,
  });
  const sees = specOf({ sandbox: { mode: 'files', read: [root], write: [] } });
  expect(() => by.check(sees)).toThrow('contains Gantry’s own folder');
  const words = await shown(specOf(), by);
  for (const at of [linked, join(root, 'home')]) expect(words[words.indexOf(at) - 1]).toBe('--tmpfs');
});

test.skipIf(!works)(
  'a folder that a link leads out of the workspace, or into Gantry’s own, is not a bot’s',
  async () => {
    const { home, userHome, workspace, specOf, shown } = place();
    mkdirSync(join(userHome, '.ssh'));
    symlinkSync(join(userHome, '.ssh'), join(workspace, 'sub'));
    await expect(shown(specOf({ cwd: join(workspace, 'sub') }))).rejects.toThrow('outside of the workspace');
    await expect(shown(specOf({ cwd: join(home, 'run') }))).rejects.toThrow('in Gantry’s own folder');
  },
);

test.skipIf(!works)('of a home in which its program lies a bot sees the program only', async () => {
  const { userHome, specOf, shown } = place({ userAt: 'users/u' });
  const program = join(userHome, 'agent');
  writeFileSync(program, '#!/bin/sh\n', { mode: 0o755 });
  const words = await shown(specOf(), undefined, program);
  expect(words).toContain(program);
  expect(words.filter((word, at) => word === userHome && words[at - 1]?.includes('bind') === true)).toEqual([]);
  mkdirSync(join(userHome, 'bin'));
  writeFileSync(join(userHome, 'bin/agent'), '#!/bin/sh\n', { mode: 0o755 });
  expect(await shown(specOf(), undefined, join(userHome, 'bin/agent'))).toContain(join(userHome, 'bin'));
});

test('a bot in a sandbox is not run without its terminal, where nothing would confine it', () => {
  const member = {
    live: true,
    placement: { unenforceable: null, holdsMode: false },
    spec: { harness: 'claude', sandbox: { mode: 'files' } },
  };
  const executor = createExecutor({
    registry: { find: () => member },
    harnesses: { hasExec: () => true },
  } as unknown as ExecutorDeps);
  expect(executor.unenforceable('a')).toContain('outside of it');
});

test('where no sandbox can be made, the start says why and starts nothing in its place', async () => {
  const bin = scratchFolder();
  for (const name of ['bash', 'sh', 'git', 'node']) {
    const place = (process.env.PATH ?? '')
      .split(':')
      .map((folder) => join(folder, name))
      .find(existsSync);
    if (place !== undefined) symlinkSync(place, join(bin, name));
  }
  const engine = await startEngine({ env: { PATH: bin } });
  engine.team('dev', shell(files));
  const { status, body } = await up(engine, 'dev');
  expect(status).toBe(400);
  expect(body.error.fact).toContain('web@dev: it is to run in the sandbox "files", but');
  expect(body.error.fact).toMatch(/bubblewrap \(bwrap\) is not installed|there is no sandbox on this system/);
  expect(await engine.agent('web@dev')).toMatchObject({ state: 'offline', pane: null });
});
