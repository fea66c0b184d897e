/** Nothing that a task brings reaches what runs outside of the sandbox, and nothing of the worker's reaches the task. */
import { chmodSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Task } from '../../../src/contracts/work-queue/task.ts';
import { commandRunner } from '../../../src/programs/worker/command.ts';
import { findSandbox, type Sandbox } from '../../../src/programs/worker/sandbox.ts';
import { scratchFolder } from '../../support/scratch.ts';

const path = process.env.PATH ?? '';
const open = await findSandbox({ wanted: false, network: false, path });
const closed = await findSandbox({ wanted: true, network: false, path });
const lease = { id: 'lease_1', fence: 7, expires_at: '', ttl_seconds: 60, attempt: 3 };
const run = (sandbox: Sandbox, command: string | string[], env: Record<string, string> = {}) =>
  commandRunner(
    sandbox,
    expect.unreachable,
  )({
    task: { id: 'task_1', payload: { command }, env, sandbox_image: null } as unknown as Task,
    lease,
    signal: new AbortController().signal,
  }) as Promise<{ stdout: string }>;

function program(file: string, line: string): void {
  writeFileSync(file, `#!/bin/sh\n${line}\n`);
  chmodSync(file, 0o755);
}

test.skipIf(!closed.closed)('the PATH of a task does not choose the program that makes its sandbox', async () => {
  const folder = scratchFolder();
  program(join(folder, 'bwrap'), `echo out > ${folder}/escaped`);
  expect(await run(closed, ['/bin/sh', '-c', 'echo $PATH'], { PATH: folder })).toMatchObject({
    stdout: `${folder}\n`,
  });
  expect(existsSync(join(folder, 'escaped'))).toBe(false);
});

test.skipIf(!closed.closed)(
  'of two tasks at one worker the second runs no program of the first outside of the sandbox',
  async () => {
    const folder = scratchFolder();
    const before = new Set(readdirSync(tmpdir()));
    const plant = `printf '#!/bin/sh\\necho out > ${folder}/escaped\\n' > bwrap; chmod 755 bwrap; touch done; until [ -e go ]; do sleep 0.05; done`;
    const first = run(closed, plant);
    const planted = () =>
      readdirSync(tmpdir()).find(
        (name) => name.startsWith('gantry-task-') && !before.has(name) && existsSync(join(tmpdir(), name, 'done')),
      );
    await expect.poll(planted).toBeDefined();
    const host = join(tmpdir(), planted()!);
    await run(closed, '/bin/true', { PATH: host });
    writeFileSync(join(host, 'go'), '');
    await first;
    expect(existsSync(join(folder, 'escaped'))).toBe(false);
  },
);

test.skipIf(!closed.closed)('the loader of the sandbox’s own program does not obey the task', async () => {
  const folder = scratchFolder();
  await run(closed, 'true', { LD_DEBUG: 'files', LD_DEBUG_OUTPUT: join(folder, 'written') });
  expect(readdirSync(folder)).toEqual([]);
});

test.skipIf(!closed.closed)('a task cannot add to the words that make its sandbox', async () => {
  const folder = scratchFolder();
  const env = { A: `x\0--bind\0${folder}\0/mnt` };
  await expect(run(closed, 'ls -d /mnt', env)).rejects.toMatchObject({ error: { code: 'bad_env' } });
  await expect(run(open, 'true', env)).rejects.toMatchObject({ error: { code: 'bad_env' } });
});

test.skipIf(!closed.closed)('what a task is given as environment stands in no list of processes', async () => {
  const secret = `secret-${performance.now()}`;
  const word = `1${performance.now()}`;
  const running = run(
    closed,
    `echo "[$TOLD]"; [ -e /proc/self/fd/3 ] || echo closed; grep -q "$TOLD" /proc/1/environ || echo none; sleep 1; : ${word}`,
    {
      TOLD: secret,
    },
  );
  const seen = new Set<string>();
  const look = () => {
    const all = readdirSync('/proc')
      .filter((pid) => /^\d+$/.test(pid))
      .map(commandLine);
    for (const line of all.filter((one) => one.includes(word) || one.includes(secret))) seen.add(line);
    return seen.size;
  };
  await expect.poll(look).toBeGreaterThan(0);
  const { stdout } = await running;
  look();
  expect([...seen].filter((line) => line.includes(secret))).toEqual([]);
  expect(stdout).toBe(`[${secret}]\nclosed\nnone\n`);
});

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

test.each([open, ...(closed.closed ? [closed] : [])].map((sandbox) => ({ sandbox })))(
  'a command sees its own environment and none of the worker’s (closed: $sandbox.closed)',
  async ({ sandbox }) => {
    process.env.GANTRY_KEY_FILE = '/home/somebody/key';
    process.env.GANTRY_SOME_TOKEN = 'a token';
    onTestFinished(() => {
      delete process.env.GANTRY_KEY_FILE;
      delete process.env.GANTRY_SOME_TOKEN;
    });
    const { stdout } = await run(sandbox, ['/usr/bin/env'], { MINE: 'two\nlines', LANG: 'xx' });
    const names = [...stdout.matchAll(/^([A-Z_]+)=/gm)].map(([, name]) => name);
    const record = sandbox.closed ? [] : ['GANTRY_PROCESS_RECORD'];
    const own = ['GANTRY_TASK_ATTEMPT', 'GANTRY_TASK_FENCE', 'GANTRY_TASK_ID', 'HOME', 'LANG', 'MINE', 'PATH'];
    expect(names.filter((name) => name !== 'PWD').sort()).toEqual(
      [...record, ...own].filter((name) => name !== 'PWD').sort(),
    );
    expect(stdout).toContain('MINE=two\nlines\n');
    expect(stdout).toContain('LANG=xx\n');
  },
);
