/** Commands of tasks: in a real bubblewrap where there is one, as the worker itself elsewhere; `gantry worker` as a person starts it. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import type { Task } from '../../../src/contracts/work-queue/task.ts';
import { commandRunner } from '../../../src/programs/worker/command.ts';
import { findSandbox, type Sandbox } from '../../../src/programs/worker/sandbox.ts';
import { startQueue } from '../../cloud-api/work-queue/support.ts';
import { engines } from '../../support/engines.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { startVictim } from '../../support/victim.ts';

const cli = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const path = process.env.PATH ?? '';
const open = await findSandbox({ wanted: false, network: false, path });
const closed = await findSandbox({ wanted: true, network: false, path });
const sandboxes = [open, ...(closed.closed ? [closed] : [])].map((sandbox) => ({
  name: sandbox.closed ? 'in bubblewrap' : 'without a sandbox',
  sandbox,
}));

const task = { id: 'task_1', payload: {}, env: {}, sandbox_image: null } as unknown as Task;
const lease = { id: 'lease_1', fence: 7, expires_at: '', ttl_seconds: 60, attempt: 3 };
const run = (sandbox: Sandbox, payload: unknown, more: Partial<Task> = {}, signal = new AbortController().signal) =>
  commandRunner(
    sandbox,
    expect.unreachable,
  )({ task: { ...task, payload: payload as Task['payload'], ...more }, lease, signal });

test.each(sandboxes)(
  '$name: a command’s output is its result, and its folder is gone afterwards',
  async ({ sandbox }) => {
    const line =
      'echo "$GREETING $GANTRY_TASK_ID $GANTRY_TASK_ATTEMPT $GANTRY_TASK_FENCE"; echo x > here; ls; [ "$HOME" = "$PWD" ] && cat >&2';
    // Folders of its own: other workers on this machine make theirs.
    const own = mkdtempSync(join(tmpdir(), 'gantry-tests-'));
    vi.stubEnv('TMPDIR', own);
    onTestFinished(() => {
      vi.unstubAllEnvs();
      rmSync(own, { recursive: true, force: true });
    });
    const result = await run(sandbox, { command: line, stdin: 'from stdin' }, { env: { GREETING: 'hello' } });
    expect(result).toMatchObject({
      exit_code: 0,
      stdout: 'hello task_1 3 7\nhere\n',
      stderr: 'from stdin',
      truncated: false,
    });
    expect(readdirSync(own)).toEqual([]);
    expect(await run(sandbox, { command: ['printf', '%s|', 'a b', '$HOME'] })).toMatchObject({ stdout: 'a b|$HOME|' });
  },
);

test.each(sandboxes)('$name: how a command failed is said', async ({ sandbox }) => {
  const failed = async (payload: unknown, more?: Partial<Task>) => {
    const error = await run(sandbox, payload, more).then(
      () => null,
      (thrown: { error: unknown }) => thrown.error,
    );
    return error;
  };
  expect(await failed({ command: 'echo why >&2; exit 3' })).toEqual({
    code: 'exit_3',
    message: 'It ended with exit code 3. Its last error output: why',
  });
  // The end is what tells, however much came before it.
  const long = 'yes filler | head -n 30000; echo the reason; echo why >&2; exit 1';
  const said = (await failed({ command: long })) as { message: string };
  expect(said.message).toMatch(
    /^It ended with exit code 1\. Its last error output: why\nIts last output: [\s\S]*filler\nthe reason$/,
  );
  expect(said.message.length).toBeLessThan(5_000);
  expect(await failed({ command: 'echo step 1; exec sleep 60', timeout_seconds: 2 })).toEqual({
    code: 'timeout',
    message: 'It took longer than 2 s.\nIts last output: step 1',
  });
  const wrong = (message: string) => ({ code: 'bad_payload', message: expect.stringContaining(message) });
  expect(await failed({})).toEqual(wrong('`command` of the payload is missing or wrong'));
  expect(await failed({ command: 'true', timeout_seconds: 'ten' })).toEqual(
    wrong('`timeout_seconds` of the payload is missing or wrong: it must be a number of seconds'),
  );
  expect(await failed({ command: [] })).toMatchObject({ code: 'bad_payload' });
  expect(await failed({ command: 'true' }, { sandbox_image: 'node:24' })).toMatchObject({ code: 'no_such_image' });
});

test.each(sandboxes)('$name: a job that is ended leaves no process', async ({ sandbox }) => {
  const ending = new AbortController();
  const mark = `1${Math.floor(performance.now() * 1000)}`;
  const running = run(sandbox, { command: `sleep ${mark} & sleep ${mark}` }, {}, ending.signal);
  const alive = () =>
    readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && commandLine(pid).includes(`sleep\0${mark}`)).length;
  await expect.poll(alive).toBe(2);
  ending.abort();
  await expect(running).rejects.toMatchObject({ error: { code: 'ended' } });
  expect(alive()).toBe(0);
});

const readonlyCommand = fileURLToPath(new URL('../../support/victims/readonly-command.ts', import.meta.url));
/** To root no folder is read-only: as root these run as nobody, who has to reach the sources. */
const isRoot = process.getuid?.() === 0;
const nobody = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const personCanRun = (() => {
  try {
    execFileSync(process.execPath, ['-e', `fs.accessSync(${JSON.stringify(readonlyCommand)})`], {
      ...nobody,
      cwd: '/',
    });
    return true;
  } catch {
    return false;
  }
})();

function runAsPerson(line: string) {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-readonly-'));
  onTestFinished(() => {
    chmodSync(folder, 0o755);
    rmSync(folder, { recursive: true, force: true });
  });
  if (isRoot) chownSync(folder, nobody.uid ?? 0, nobody.gid ?? 0);
  const env = { PATH: path, HOME: folder, TMPDIR: folder };
  const said = execFileSync(process.execPath, [readonlyCommand, line], {
    ...nobody,
    cwd: folder,
    env,
    encoding: 'utf8',
  });
  return { ...JSON.parse(said), files: readdirSync(folder) };
}

test.skipIf(!personCanRun)(
  'a result counts, and the folder goes, though the command left read-only folders (needs who is not root)',
  () => {
    const line =
      'mkdir -p go/pkg/mod && echo x > go/pkg/mod/f && chmod 555 go/pkg/mod go/pkg && chmod 0 go && echo done';
    expect(runAsPerson(line)).toMatchObject({ result: { stdout: 'done\n' }, left: [], files: [] });
  },
);

test.skipIf(!personCanRun)(
  'a result counts though the folder cannot be removed at all, which is said (needs who is not root)',
  () => {
    const { result, left, files } = runAsPerson('chmod 555 ..; echo done');
    expect(result).toMatchObject({ stdout: 'done\n' });
    expect(files).toEqual([expect.stringMatching(/^gantry-task-/)]);
    expect(left).toEqual([expect.stringContaining(`${files[0]} is left behind (EACCES)`)]);
  },
);

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

test.skipIf(!closed.closed)('in bubblewrap a command sees nothing of the person’s and reaches nobody', async () => {
  const folder = scratchFolder();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'secret'), 'secret');
  const server = createServer((_, response) => response.end('reached'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const line = [
    `cat ${join(folder, 'secret')} 2>/dev/null`,
    `ls /home /root ${process.cwd()} 2>/dev/null`,
    'cat /etc/shadow 2>/dev/null',
    `(exec 3<>/dev/tcp/127.0.0.1/${port} && echo reached) 2>/dev/null`,
    'touch /usr/bin/mine 2>/dev/null && echo wrote',
    'true',
  ].join('; ');
  expect(await run(closed, { command: ['bash', '-c', line] })).toMatchObject({ stdout: '' });
  const reaching = await findSandbox({ wanted: true, network: true, path });
  const reach = `exec 3<>/dev/tcp/127.0.0.1/${port} && echo reached`;
  expect(await run(reaching, { command: ['bash', '-c', reach] })).toMatchObject({ stdout: 'reached\n' });
});

test('where bubblewrap is missing or not wanted, that is said plainly', async () => {
  expect(open).toMatchObject({ closed: false, about: expect.stringContaining('as you asked: commands run as you') });
  const missing = await findSandbox({ wanted: true, network: false, path: '/nowhere' });
  expect(missing).toMatchObject({
    closed: false,
    about: expect.stringContaining('is not installed: commands run as you'),
  });
  const other = await findSandbox({ wanted: true, network: false, path, platform: 'darwin' });
  expect(other).toMatchObject({ closed: false, about: expect.stringContaining('no sandbox on this system') });
});

// Three starts of a program, on a computer that is busy with other tests.
test('gantry worker --drain works the queue empty, says so, and leaves nothing behind', {
  timeout: 90_000,
}, async () => {
  const q = await startQueue(engines[0]!, { real: true });
  const folder = scratchFolder();
  mkdirSync(folder, { recursive: true });
  const keyFile = join(folder, 'key');
  writeFileSync(keyFile, 'ada\n', { mode: 0o600 });
  const tasks: string[] = [];
  for (const command of ['echo one', 'exit 7', 'echo three']) tasks.push((await q.create({ payload: { command } })).id);
  const worker = (...argv: string[]) =>
    startVictim({
      command: [
        process.execPath,
        cli,
        'worker',
        '--url',
        `http://127.0.0.1:${q.server.port}`,
        '--key-file',
        keyFile,
        ...argv,
      ],
      env: { GANTRY_HOME: join(folder, 'home') },
    });
  const drained = worker('--drain', '--json', '--name', 'desk', '--concurrency', '2');
  expect((await drained.ended).code).toBe(0);
  expect(drained.lines).toHaveLength(1);
  expect(JSON.parse(drained.lines[0]!)).toMatchObject({
    worker: 'desk',
    sandbox: closed.closed,
    succeeded: 2,
    failed: 1,
    lost: 0,
  });
  const statuses = await Promise.all(tasks.map(async (id) => (await q.task(id)).status));
  expect(statuses).toEqual(['succeeded', 'failed', 'succeeded']);
  expect((await q.task(tasks[0]!)).result).toMatchObject({ stdout: 'one\n' });
  expect(existsSync(join(folder, 'home'))).toBe(false);

  const { id } = await q.create({ payload: { command: 'sleep 1; echo late' } });
  const told = worker();
  await told.until((line) => line.startsWith('began') && line.includes(id));
  told.child.kill('SIGTERM');
  expect((await told.ended).code).toBe(0);
  expect((await q.task(id)).result).toMatchObject({ stdout: 'late\n' });
  expect(told.lines.map((line) => line.split(' ')[0])).toEqual(['began', 'draining', 'succeeded', 'Worker']);

  const noKey = worker('--key-file', '/nowhere/key');
  expect((await noKey.ended).code).toBe(64);
});
