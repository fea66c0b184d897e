/** The native tools as a caller meets them: schemas, what a person is shown, what is done, and every refusal in words. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../../src/contracts/common/errors.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import type { ApprovalAnswer, ApprovalAsk } from '../../../src/runtime-server/approvals/approvals.ts';
import type { PolicyAction, PolicyMode, Verdict } from '../../../src/runtime-server/policy/policy.ts';
import { createFileTools } from '../../../src/runtime-server/tool-server/file-tools.ts';
import {
  createToolServer,
  defineTool,
  type ToolCaller,
  type ToolRegistry,
  type ToolServer,
} from '../../../src/runtime-server/tool-server/index.ts';
import { createTimeTool } from '../../../src/runtime-server/tool-server/time-tool.ts';
import { createFinder } from '../../../src/runtime-server/tool-server/what-runs-finder.ts';
import { createTestClock } from '../../support/test-clock.ts';

let root: string;
let server: ToolServer;
let registry: ToolRegistry;
let verdict: Verdict;
let answer: ApprovalAnswer;
let asked: ApprovalAsk[];
let decided: PolicyAction[];
let modes: (PolicyMode | null)[];
/** Instead of `verdict`, where given: what is not allowed asks. */
let allowed: ((action: PolicyAction) => boolean) | null;
/** Happens between what is planned and what is done. */
let meanwhile: () => void;
let refusal: AppError | null;
let caller: ToolCaller;
let names = 0;
let logged: unknown[] = [];
let fault: Error = new Error();

/** Fails as it is told. */
const broken = defineTool({
  name: 'broken.tool',
  title: 'Fails',
  description: 'Fails.',
  input: z.strictObject({}),
  output: z.strictObject({}),
  readOnly: true,
  plan: () => ({ risk: 'low', title: 'Fail', summary: 'Fail', run: async () => Promise.reject(fault) }),
});

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'gantry-tools-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  [verdict, asked, decided, logged] = ['allow', [], [], []];
  [modes, allowed, meanwhile, refusal] = [[], null, () => {}, null];
  answer = { kind: 'approve', note: null, by: { user: 'u', surface: 'cli' }, at: '' };
  server = createToolServer({
    policy: {
      decide: (action, mode) => {
        decided.push(action);
        modes.push(mode);
        if (allowed !== null) verdict = allowed(action) ? 'allow' : 'ask';
        return { verdict, rule: 'the rule of the test' };
      },
    },
    approvals: {
      ask: async (ask) => {
        if (refusal !== null) throw refusal;
        asked.push(ask);
        meanwhile();
        return { id: `apr_${asked.length}`, answer: Promise.resolve(answer) };
      },
      withdraw: async () => {},
    },
    env: { PATH: process.env.PATH, HOME: root, SECRET_KEY: 'sk-1' },
    clock: systemClock,
    timers: systemTimers,
    freshName: () => `tmp${names++}`,
    hidden: [],
    log: { error: (_, fields) => logged.push(fields) },
    converter: null,
  });
  registry = server.registry();
  caller = {
    bot: { agentId: 'agent_1', address: 'dev@crew' },
    client: 'bot:agent_1',
    actor: 'agent_1',
    surface: 'hosted',
    patienceMs: null,
    mode: 'REQUIRE_APPROVAL',
    root,
    checkout: root,
    workspace: root,
    env: { MINE: 'yes' },
    signal: new AbortController().signal,
  };
});
const call = (name: string, input: unknown, more: Partial<ToolCaller> = {}) =>
  registry.call(name, input, { ...caller, ...more });
const put = (path: string, content: string | Uint8Array) => writeFileSync(join(root, path), content);

test('tools are listed by name with JSON Schema in and out, and with what only reads', () => {
  const list = registry.list({ onNode: false });
  expect(list.map((tool) => [tool.name, tool.annotations?.readOnlyHint])).toEqual([
    ['file.exists', true],
    ['file.list', true],
    ['file.read', true],
    ['file.remove', false],
    ['file.write', false],
    ['http.get', false],
    ['http.post', false],
    ['request_approval', false],
    ['shell.exec', false],
    ['system.env', true],
    ['system.info', true],
    ['time.now', true],
  ]);
  const hints = (name: string) => list.find((tool) => tool.name === name)?.annotations;
  for (const name of ['file.write', 'file.remove']) {
    expect(hints(name)).toMatchObject({ readOnlyHint: false, destructiveHint: true, openWorldHint: false });
  }
  for (const name of ['shell.exec', 'http.post']) {
    expect(hints(name)).toMatchObject({ readOnlyHint: false, destructiveHint: true, openWorldHint: true });
  }
  expect(hints('http.get')).toMatchObject({ readOnlyHint: false, destructiveHint: false, openWorldHint: true });
  expect(hints('file.read')).toMatchObject({ readOnlyHint: true, openWorldHint: false });
  for (const tool of list) {
    expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(tool.outputSchema).toMatchObject({ type: 'object' });
    expect(tool.inputSchema).not.toHaveProperty('$schema');
  }
});

test('a file is read in parts: lines of text, bytes of anything', async () => {
  put('a.txt', 'one\ntwo\nthree');
  expect((await call('file.read', { path: 'a.txt', offset: 1, limit: 1 })).structured).toMatchObject({
    content: 'two\n',
    next: 2,
    size: 13,
  });
  expect((await call('file.read', { path: 'a.txt', offset: 2 })).structured).toMatchObject({
    content: 'three',
    next: null,
  });
  expect((await call('file.read', { path: 'a.txt', offset: 99 })).structured).toMatchObject({
    content: '',
    next: null,
  });
  put('raw.bin', Buffer.from([0xff, 0xfe, 1, 2]));
  expect(await call('file.read', { path: 'raw.bin' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('encoding: base64'),
  });
  expect(
    (await call('file.read', { path: 'raw.bin', encoding: 'base64', offset: 1, limit: 2 })).structured,
  ).toMatchObject({
    content: Buffer.from([0xfe, 1]).toString('base64'),
    next: 3,
  });
  put('long.txt', `${'x'.repeat(100)}\n`.repeat(5000));
  const long = (await call('file.read', { path: 'long.txt' })).structured as { content: string; next: number };
  expect(long.content.length).toBeLessThanOrEqual(128 * 1024);
  const rest = (await call('file.read', { path: 'long.txt', offset: long.next, limit: 1 })).structured as {
    content: string;
  };
  expect(long.content + rest.content).toBe(`${'x'.repeat(100)}\n`.repeat(long.next + 1));
});

test('a write is asked with the whole diff, keeps rights, and holds to the hash that was given', async () => {
  verdict = 'ask';
  put('a.sh', '#!/bin/sh\necho one\n');
  const { chmodSync, statSync } = await import('node:fs');
  chmodSync(join(root, 'a.sh'), 0o755);
  const done = await call('file.write', { path: 'a.sh', content: '#!/bin/sh\necho two\n' });
  expect(done).toMatchObject({ isError: false, approvalId: 'apr_1', verdict: { verdict: 'ask' } });
  expect(asked[0]).toMatchObject({
    kind: 'file_change',
    source: 'executor',
    title: 'dev@crew: Change a.sh',
    risk: 'medium',
    agentId: 'agent_1',
  });
  expect(asked[0]?.summary).toContain('-echo one\n+echo two');
  expect(statSync(join(root, 'a.sh')).mode & 0o777).toBe(0o755);
  verdict = 'allow';
  expect(await call('file.write', { path: 'a.sh', content: 'x', ifHash: 'f'.repeat(64) })).toMatchObject({
    isError: true,
    text: expect.stringContaining('was changed in the meantime'),
  });
  expect(await call('file.write', { path: 'a.sh', content: 'x', ifHash: '' })).toMatchObject({ isError: true });
  expect(await call('file.write', { path: 'deep/er/b.txt', content: 'x' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('not there'),
  });
  expect(
    await call('file.write', {
      path: 'deep/er/b.txt',
      content: 'eA==',
      encoding: 'base64',
      createDirs: true,
      ifHash: '',
    }),
  ).toMatchObject({ isError: false });
  expect(readFileSync(join(root, 'deep/er/b.txt'), 'utf8')).toBe('x');
});

test('two calls that differ in anything are two actions; the same call is the same action', async () => {
  const hash = async (input: object) => (await call('shell.exec', input)).actionHash?.();
  const first = await hash({ command: 'true' });
  expect(await hash({ command: 'true' })).toBe(first);
  const others = [
    await hash({ command: 'true', args: ['x'] }),
    await hash({ command: 'true', cwd: '.' }),
    await hash({ command: 'true', env: { A: '1' } }),
  ];
  expect(new Set([first, ...others]).size).toBe(4);
});

test('what the policy denies, a person rejects or nobody answers is not done and says why', async () => {
  verdict = 'deny';
  expect(await call('file.write', { path: 'no.txt', content: 'x' })).toMatchObject({
    isError: true,
    acted: false,
    text: expect.stringContaining('the rule of the test'),
  });
  verdict = 'ask';
  for (const [given, words] of [
    [{ kind: 'expired' } as const, 'Nobody answered in time'],
    [{ kind: 'withdrawn', surface: 'pane' } as const, 'withdrawn (pane)'],
    [
      { kind: 'reject', note: 'no', by: { user: 'u', surface: 'cli' }, at: '' } as const,
      'A person said no: no. Nothing ran',
    ],
  ] as const) {
    answer = given;
    expect(await call('file.write', { path: 'no.txt', content: 'x' })).toMatchObject({
      isError: true,
      acted: false,
      text: expect.stringContaining(words),
    });
  }
  expect((await call('file.exists', { path: 'no.txt' })).isError).toBe(true);
  verdict = 'allow';
  expect((await call('file.exists', { path: 'no.txt' })).structured).toEqual({ exists: false, type: null });
});

test('the policy hears family, member, bot, the path as rules name it, and the command as one would type it', async () => {
  mkdirSync(join(root, 'tree'));
  await call('file.read', { path: join(root, 'tree', '..', 'a.txt') });
  await call('shell.exec', { command: 'git', args: ['commit', '-m', "it's done"] });
  await call('file.read', { path: 'src/x.ts' }, { root: join(root, 'tree'), workspace: '/somewhere/else' });
  expect(decided).toEqual([
    { tool: 'file', member: 'read', bot: 'dev@crew', path: 'a.txt' },
    { tool: 'shell', member: 'exec', bot: 'dev@crew', command: "git commit -m 'it'\\''s done'" },
    { tool: 'file', member: 'read', bot: 'dev@crew', path: 'src/x.ts' },
  ]);
});

test('a folder is listed with globs, without entering .git and node_modules, and says when there is more', async () => {
  for (const folder of ['src/deep', 'node_modules/x', '.git/objects'])
    mkdirSync(join(root, folder), { recursive: true });
  for (const file of ['src/a.ts', 'src/deep/b.ts', 'src/c.md', 'node_modules/x/d.ts', '.git/objects/e.ts'])
    put(file, 'x');
  const paths = async (input: object) =>
    ((await call('file.list', input)).structured as { entries: { path: string }[] }).entries.map((entry) => entry.path);
  expect(await paths({})).toEqual(['.git', 'node_modules', 'src']);
  expect(await paths({ glob: '**/*.ts' })).toEqual(['src/a.ts', 'src/deep/b.ts']);
  expect(await paths({ path: 'src', glob: '*.ts' })).toEqual(['a.ts']);
  expect(await call('file.list', { recursive: true, limit: 2 })).toMatchObject({
    structured: { truncated: true },
    text: expect.stringContaining('there is more'),
  });
});

test('metacharacters are inert unless a shell was asked for; the environment is plain', async () => {
  const plain = await call('shell.exec', { command: 'echo', args: ['$HOME; touch owned', '`id`', '&& false'] });
  expect(plain.structured).toMatchObject({ stdout: '$HOME; touch owned `id` && false\n', exitCode: 0 });
  expect((await call('file.exists', { path: 'owned' })).structured).toMatchObject({ exists: false });
  const shell = await call('shell.exec', {
    command: 'echo "$MINE $EXTRA $0 $1"; exit 3',
    args: ['first'],
    env: { EXTRA: 'more' },
    shell: true,
  });
  expect(shell.structured).toMatchObject({ stdout: 'yes more sh first\n', exitCode: 3 });
  expect((await call('shell.exec', { command: 'env' })).text).not.toContain('sk-1');
  expect((await call('shell.exec', { command: 'cat', stdin: 'given' })).structured).toMatchObject({ stdout: 'given' });
  expect(await call('shell.exec', { command: 'no-such-program' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('no-such-program could not be started'),
  });
  expect(await call('shell.exec', { command: 'pwd', cwd: '..' })).toMatchObject({
    isError: true,
    text: expect.stringContaining('is outside'),
  });
});

test('output is cut at its cap, a command that takes too long is ended, and a stop ends it too', async () => {
  const flood = await call('shell.exec', { command: 'head -c 3000000 /dev/zero | tr "\\0" y', shell: true });
  expect(flood.structured).toMatchObject({ truncated: true });
  expect(flood.text.length).toBeLessThan(61_000);
  const slow = await call('shell.exec', { command: 'sleep', args: ['30'], timeoutMs: 200 });
  expect(slow).toMatchObject({ structured: { timedOut: true }, text: expect.stringContaining('timed out') });
  const stop = new AbortController();
  const running = call('shell.exec', { command: 'touch begun; sleep 30', shell: true }, { signal: stop.signal });
  await expect.poll(() => existsSync(join(root, 'begun'))).toBe(true);
  stop.abort();
  expect((await running).structured).toMatchObject({ timedOut: false, exitCode: null });
});

test('a line in place of a program is taken apart, and what cannot start is said before anybody is asked', async () => {
  verdict = 'ask';
  put('here.txt', '');
  expect(await call('shell.exec', { command: 'ls -a' })).toMatchObject({
    isError: false,
    text: expect.stringContaining('here.txt'),
  });
  expect(decided.at(-1)?.command).toBe('ls -a');
  expect((await call('shell.exec', { command: 'ls -a', args: ['here.txt'] })).text).toContain('here.txt');
  const before = asked.length;
  for (const command of ['ls *.txt', "sh -c 'id'", 'ls | cat', 'ls $HOME', 'no-such-program-here -la']) {
    const { isError, text } = await call('shell.exec', { command });
    expect([command, isError, text]).toEqual([
      command,
      true,
      expect.stringContaining('is a command line, not one program'),
    ]);
  }
  for (const command of ['no-such-program-here', './here.txt', '.']) {
    expect((await call('shell.exec', { command })).text).toContain('no such program here');
  }
  expect(asked).toHaveLength(before);
  put('my tool', '#!/bin/sh\necho mine\n');
  chmodSync(join(root, 'my tool'), 0o755);
  expect((await call('shell.exec', { command: './my tool' })).text).toContain('mine');
});

test('a folder is removed only where it and all in it that says what may run may be', async () => {
  mkdirSync(join(root, 'packages/a/.claude'), { recursive: true });
  put('packages/AGENTS.md', 'words');
  const remove = () => call('file.remove', { path: 'packages', recursive: true }, { mode: 'ACCEPT_EDITS' });
  answer = { kind: 'reject', note: null, at: '', by: { user: 'me', surface: 'inbox' } };
  for (const only of ['packages', 'packages/AGENTS.md', 'packages/a/.claude']) {
    allowed = ({ path }) => path === only;
    expect((await remove()).isError).toBe(true);
    expect(asked.at(-1)?.summary).toContain(
      'It contains files that say what may run: packages/AGENTS.md, packages/a/.claude.',
    );
  }
  expect(asked).toHaveLength(3);
  allowed = ({ path }) => path !== undefined;
  expect((await remove()).isError).toBe(false);
  expect(existsSync(join(root, 'packages'))).toBe(false);
});

test('a folder with more folders than are looked through is not removed as a whole', async () => {
  const finder = createFinder({ now: systemClock.now, limit: 20 });
  const tools = createFileTools({ hidden: [], freshName: () => 'fresh', finder });
  const remove = tools.find(({ name }) => name === 'file.remove');
  const plan = async (path: string) => remove?.plan({ path, recursive: true }, caller);
  for (let at = 0; at < 20; at += 1) mkdirSync(join(root, `many/${at}`), { recursive: true });
  await expect(plan('many')).rejects.toThrow('many has too many folders to search');
  rmSync(join(root, 'many/19'), { recursive: true });
  expect(await plan('many')).toMatchObject({ title: 'Remove many' });
});

test('a link gives neither a guarded folder nor what a rule is about another name', async () => {
  for (const folder of ['.gantry', 'secret']) mkdirSync(join(root, folder));
  symlinkSync('.gantry', join(root, 'docs'));
  symlinkSync(join(root, 'secret'), join(root, 'open'));
  put('secret/a.txt', 'a');
  await call('file.write', { path: 'docs/policy.yaml', content: '' }, { mode: 'ACCEPT_EDITS' });
  await call('file.write', { path: 'docs/teams/x/team.yaml', content: '', createDirs: true }, { mode: 'ACCEPT_EDITS' });
  await call('file.read', { path: 'open/a.txt' });
  await call('file.remove', { path: 'docs/policy.yaml' });
  await call('file.remove', { path: 'docs' });
  expect(decided.map(({ member, path }) => `${member} ${path}`)).toEqual([
    'write .gantry/policy.yaml',
    'write .gantry/teams/x/team.yaml',
    'read secret/a.txt',
    'remove .gantry/policy.yaml',
    'remove docs',
  ]);
  expect(modes.slice(0, 2)).toEqual(['REQUIRE_APPROVAL', 'REQUIRE_APPROVAL']);
});

test('a path that leads elsewhere once it was allowed is not written, read or removed', async () => {
  verdict = 'ask';
  for (const folder of ['.git', 'a', 'b', 'c']) mkdirSync(join(root, folder));
  for (const file of ['.git/x', 'a/x', 'b/x', 'c/x']) put(file, 'same');
  const swapped = async (name: string, folder: string, input: object) => {
    meanwhile = () => {
      rmSync(join(root, folder), { recursive: true });
      symlinkSync('.git', join(root, folder));
    };
    return (await call(name, { path: `${folder}/x`, ...input })).isError;
  };
  expect(await swapped('file.write', 'a', { content: 'mine' })).toBe(true);
  expect(await swapped('file.read', 'b', {})).toBe(true);
  expect(await swapped('file.remove', 'c', {})).toBe(true);
  expect(readFileSync(join(root, '.git/x'), 'utf8')).toBe('same');
});

test('the folder, the variables and the input of a command are asked about apart from it: a command that names some has none', async () => {
  mkdirSync(join(root, 'site'));
  verdict = 'ask';
  const env = { LD_PRELOAD: './x.so' };
  const told = await call('shell.exec', { command: 'cat', cwd: 'site', env, stdin: 'given' });
  const forging = 'cat\nFolder: site\nVariables: LD_PRELOAD=./x.so\nInput: given';
  const forged = await call('shell.exec', { command: forging, shell: true });
  expect(asked.map(({ summary, details }) => [summary, details])).toEqual([
    [
      'cat',
      [
        { name: 'Folder', text: 'site' },
        { name: 'Variables', text: 'LD_PRELOAD=./x.so' },
        { name: 'Input', text: 'given' },
      ],
    ],
    [forging, []],
  ]);
  expect(forged.actionHash?.()).not.toBe(told.actionHash?.());
});

test('two long texts with nothing in common are shown whole, in no time that a loop would feel', async () => {
  const lines = (word: string) => Array.from({ length: 30_000 }, (_, n) => `${word}${n}`).join('\n');
  put('long.txt', `${lines('a')}\n`);
  const before = process.cpuUsage().user;
  verdict = 'ask';
  await call('file.write', { path: 'long.txt', content: lines('b') });
  // Compared line by line it takes minutes.
  expect(process.cpuUsage().user - before).toBeLessThan(10_000_000);
  expect(asked[0]?.summary.split('\n')).toEqual(
    expect.arrayContaining(['@@ -1,30000 +1,30000 @@', '-a0', '-a29999', '+b0', '\\ No newline at end of file']),
  );
});

test('a question that cannot be put is an answer to the bot, not a fault of the turn', async () => {
  verdict = 'ask';
  refusal = new AppError('refused', 'It has 300000 characters.', 'Ask for smaller steps.');
  expect(await call('file.write', { path: 'a', content: 'x' })).toMatchObject({
    isError: true,
    acted: false,
    text: 'It has 300000 characters. Ask for smaller steps. Nothing ran.',
  });
});

test('a command that a rule lets run is not let run with variables of the bot', async () => {
  allowed = (action) => action.command === 'node --version';
  expect((await call('shell.exec', { command: 'node', args: ['--version'] })).approvalId).toBeNull();
  const input = { command: 'node', args: ['--version'], env: { NODE_OPTIONS: '--require=./evil.cjs' } };
  expect((await call('shell.exec', input)).approvalId).toBe('apr_1');
  expect(decided.at(-1)?.command).toBe('NODE_OPTIONS=--require=./evil.cjs node --version');
});

test('the text of a fault inside Gantry reaches the log and no caller; what the computer refuses is said without its paths', async () => {
  for (const each of [
    new TypeError("Cannot read properties of undefined (reading 'secret')"),
    new AppError('internal', 'secret state', 'Report it.', { cause: new Error('secret cause') }),
  ]) {
    fault = each;
    registry = server.registry([broken]);
    const outcome = await call('broken.tool', {});
    expect([outcome.isError, JSON.stringify(outcome.content)]).toEqual([
      true,
      expect.stringContaining('Something went wrong inside Gantry'),
    ]);
    expect(JSON.stringify(outcome)).not.toContain('secret');
    expect(JSON.stringify(logged.pop())).toContain('secret');
  }
  fault = Object.assign(new Error("EACCES: permission denied, open '/home/secret'"), {
    code: 'EACCES',
    syscall: 'open',
  });
  expect((await call('broken.tool', {})).text).toBe('The computer refused it: permission denied (EACCES).');
});

test('the time of this computer is told without reading its zone anew for each call, and with the zone that it has now', async () => {
  const made = vi.spyOn(Intl, 'DateTimeFormat');
  const before = process.env.TZ;
  onTestFinished(() => {
    made.mockRestore();
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  });
  const clock = createTestClock();
  const tool = createTimeTool({ clock });
  const now = async () =>
    (await (await tool.plan({}, caller)).run(caller.signal, () => ({}) as never)) as { timezone: string };
  process.env.TZ = 'Asia/Tokyo';
  for (let count = 0; count < 20; count += 1) expect(await now()).toMatchObject({ timezone: 'Asia/Tokyo' });
  expect(made).toHaveBeenCalledTimes(1);
  process.env.TZ = 'America/Lima';
  await clock.advance(60_000);
  expect(await now()).toMatchObject({ timezone: 'America/Lima' });
});
