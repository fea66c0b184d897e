/** What running a child promises: its output, its end, its deadline, and that nothing is left behind. Real processes. */
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { plainEnvironment, runProcess } from '../../../src/kit/process/run-process.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { alive, node, pidIn, sh } from './support.ts';

const deadlineMs = 20_000;
test('output, input and exit code come back as they are', async () => {
  const script = "process.stdin.pipe(process.stdout); process.stderr.write('err'); process.exitCode = 7";
  const result = await runProcess({ command: node(script), input: 'grüße\n', deadlineMs });
  expect(result).toEqual({
    exitCode: 7,
    exitSignal: null,
    stdout: 'grüße\n',
    stderr: 'err',
    truncated: false,
    last: { stdout: 'grüße\n', stderr: 'err' },
    ended: null,
  });
});

test('a program that does not exist is a usage error with its name', async () => {
  await expect(runProcess({ command: ['no-such-program-here'], deadlineMs })).rejects.toMatchObject({
    code: 'usage',
    fact: 'no-such-program-here could not be started (ENOENT).',
  });
});

test('arguments are never read by a shell', async () => {
  const result = await runProcess({ command: ['/bin/echo', '$HOME; echo x', '`id`'], deadlineMs });
  expect(result.stdout).toBe('$HOME; echo x `id`\n');
});

test('output beyond the cap is dropped, and the program is not stopped by it', async () => {
  const script = "process.stdout.write('x'.repeat(5_000_000), () => process.stderr.write('done'))";
  const result = await runProcess({ command: node(script), outputCap: 1000, deadlineMs });
  expect(result.stdout).toBe('x'.repeat(1000));
  expect(result).toMatchObject({ stderr: 'done', truncated: true, exitCode: 0 });
});

test('a program that does not read its input is no error', async () => {
  const result = await runProcess({ command: ['/bin/true'], input: 'x'.repeat(1_000_000), deadlineMs });
  expect(result.exitCode).toBe(0);
});

test('the child sees only the environment it is given', async () => {
  const result = await runProcess({ command: ['/usr/bin/env'], env: { ONLY: 'this' }, deadlineMs });
  // Beside the mark by which it is found again.
  expect(result.stdout.replace(/^GANTRY_PROCESS_RECORD=[0-9a-f-]{36}\n/m, '')).toBe('ONLY=this\n');
  expect(Object.keys(plainEnvironment({ PATH: '/bin', SECRET: 'x', HOME: '/h' }))).toEqual(['PATH', 'HOME']);
});

test('at the deadline the whole tree ends, also who ignores signals or has left the group', async () => {
  const folder = scratchFolder();
  const [stubborn, elsewhere] = [join(folder, 'stubborn'), join(folder, 'elsewhere')];
  const command = sh(
    `trap '' TERM HUP; (trap '' TERM HUP; echo $$ >/dev/null; sh -c 'echo $PPID > ${stubborn}'; while :; do sleep 1; done) &
     setsid sh -c 'echo $$ > ${elsewhere}; trap "" TERM; while :; do sleep 1; done' &
     echo ready; while :; do sleep 1; done`,
  );
  const result = await runProcess({ command, deadlineMs: 600 });
  expect(result).toMatchObject({ ended: 'deadline', stdout: 'ready\n', exitCode: null, exitSignal: 'SIGKILL' });
  for (const file of [stubborn, elsewhere]) expect(alive(pidIn(file))).toBe(false);
});

test('what a program leaves in the background ends with it', async () => {
  const file = join(scratchFolder(), 'left');
  const result = await runProcess({ command: sh(`sleep 600 & echo $! > ${file}; echo out`), deadlineMs });
  expect(result).toMatchObject({ exitCode: 0, stdout: 'out\n', ended: null });
  expect(alive(pidIn(file))).toBe(false);
});

test('an aborted run ends its tree, and one aborted before never starts', async () => {
  const stop = new AbortController();
  const running = runProcess({ command: sh('sleep 600'), deadlineMs, signal: stop.signal });
  // At some moment while it runs; another one proves the same.
  setTimeout(() => stop.abort(), 50);
  expect(await running).toMatchObject({ ended: 'aborted', exitSignal: 'SIGTERM' });
  await expect(runProcess({ command: ['/bin/true'], deadlineMs, signal: stop.signal })).rejects.toThrow();
});
