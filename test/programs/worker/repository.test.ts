/** Tasks with a repository, in a real bubblewrap where there is one: its files come as a bundle, and what the command changed goes back as a patch. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { filePartBytes } from '../../../src/contracts/work-queue/files.ts';
import { maxChangesBytes } from '../../../src/contracts/work-queue/task.ts';
import { commandRunner } from '../../../src/programs/worker/command.ts';
import { createTaskFiles } from '../../../src/programs/worker/files.ts';
import { findSandbox, type Sandbox } from '../../../src/programs/worker/sandbox.ts';
import { startQueue, type TestQueue } from '../../cloud-api/work-queue/support.ts';
import { engines } from '../../support/engines.ts';
import { scratchFolder } from '../../support/scratch.ts';
import { begin } from './support.ts';

const path = process.env.PATH ?? '';
const open = await findSandbox({ wanted: false, network: false, path });
const closed = await findSandbox({ wanted: true, network: false, path });
const sandboxes = [open, ...(closed.closed ? [closed] : [])].map((sandbox) => ({
  name: sandbox.closed ? 'in bubblewrap' : 'without a sandbox',
  sandbox,
}));
const strictest = closed.closed ? closed : open;

function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
  return execFileSync('git', ['-C', cwd, ...who, ...args], { encoding: 'utf8' }).trim();
}

/** A repository with a commit, and its bundle in the queue. */
async function withBundle(q: TestQueue, files: Record<string, string | Buffer>) {
  const folder = scratchFolder();
  git(folder, 'init', '--quiet', '--initial-branch=main');
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(join(folder, name, '..'), { recursive: true });
    writeFileSync(join(folder, name), content);
  }
  git(folder, 'add', '--all');
  git(folder, 'commit', '--quiet', '-m', 'first');
  const commit = git(folder, 'rev-parse', 'HEAD');
  const bundle = join(scratchFolder(), 'step.bundle');
  git(folder, 'bundle', 'create', '--quiet', bundle, 'main');
  const bytes = readFileSync(bundle);
  for (let part = 0; part * filePartBytes < bytes.length; part += 1) {
    const data = bytes.subarray(part * filePartBytes, (part + 1) * filePartBytes).toString('base64');
    expect((await q.send('PUT', `/files/step.bundle/${part}`, { body: { data } })).status).toBe(200);
  }
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  return { folder, repository: { bundle: { name: 'step.bundle', size: bytes.length, sha256 }, commit } };
}

async function work(q: TestQueue, sandbox: Sandbox, payload: Record<string, unknown>) {
  const files = createTaskFiles({ url: `http://127.0.0.1:${q.server.port}`, key: 'ada', random: () => 0 });
  const { id } = await q.create({ payload });
  const { worker } = begin(q.server.port, commandRunner(sandbox, expect.unreachable, null, files), {
    untilEmpty: true,
  });
  await worker.ended;
  return q.task(id);
}

type Changed = { changes: { patch: { name: string; size: number } | null } };

async function patchOf(q: TestQueue, { result }: { result: unknown }): Promise<Buffer> {
  const { patch } = (result as Changed).changes;
  if (patch === null) throw new Error('Nothing was changed.');
  const parts: Buffer[] = [];
  for (let part = 0; part * filePartBytes < patch.size; part += 1) {
    const { data } = await q.send('GET', `/files/${patch.name}/${part}`);
    parts.push(Buffer.from(String(data), 'base64'));
  }
  return Buffer.concat(parts);
}

const start = () => startQueue(engines[0]!, { real: true });

test.each(sandboxes)(
  '$name: a command runs in a working tree, and its changes come back as a patch',
  async ({ sandbox }) => {
    const q = await start();
    // More than one part, which no compression makes smaller.
    const noise = Buffer.from(
      Array.from({ length: 1_500_000 }, (_, at) => (at * at * 7919 + (at >> 3) * 104_729) % 251),
    );
    const { folder, repository } = await withBundle(q, {
      'app/a.txt': 'one\n',
      gone: 'x',
      noise,
      '.gitignore': 'out\n',
    });
    const command =
      'pwd; git rev-parse HEAD; echo two >> a.txt; rm ../gone; printf "\\000\\377" > new; mkdir out; touch out/ignored; git add --all';
    const task = await work(q, sandbox, { command, repository: { ...repository, folder: 'app' } });
    expect(task).toMatchObject({
      status: 'succeeded',
      result: { exit_code: 0, changes: { commit: repository.commit } },
    });
    expect((task.result as { stdout: string }).stdout).toMatch(new RegExp(`/tree/app\n${repository.commit}\n$`));
    const patch = join(scratchFolder(), 'changes.patch');
    writeFileSync(patch, await patchOf(q, task));
    git(folder, 'apply', patch);
    expect(git(folder, 'status', '--porcelain')).toBe('M app/a.txt\n D gone\n?? app/new');
    expect(readFileSync(join(folder, 'app/new'))).toEqual(Buffer.from([0, 255]));
  },
);

test('a command that changes nothing returns no patch, and one that fails only its error', async () => {
  const q = await start();
  const { repository } = await withBundle(q, { a: 'one\n' });
  expect(await work(q, strictest, { command: 'cat a', repository })).toMatchObject({
    result: { stdout: 'one\n', changes: { patch: null } },
  });
  expect(await work(q, strictest, { command: 'echo no >&2; exit 3', repository })).toMatchObject({
    status: 'failed',
    error: { code: 'exit_3', message: 'It ended with exit code 3. Its last error output: no' },
  });
});

test('what the command leaves as git’s settings runs only where the command ran', async () => {
  const q = await start();
  const { repository } = await withBundle(q, { a: 'one\n' });
  const outside = join(scratchFolder(), 'escaped');
  const script = `#!/bin/sh\ntouch ${outside}\n`;
  const command = `printf '${script.replaceAll('\n', '\\n')}' > .git/run; chmod +x .git/run; git config core.fsmonitor "$PWD/.git/run"; echo two > a`;
  const task = await work(q, strictest, { command, repository });
  expect(task.status).toBe('succeeded');
  if (strictest.closed) expect(() => readFileSync(outside)).toThrow('ENOENT');
});

test('a patch that the command put under a link is not followed', async () => {
  const q = await start();
  const { repository } = await withBundle(q, { a: 'one\n' });
  // The comparison writes through the link, to a device that keeps nothing; what is read is the link.
  const task = await work(q, strictest, { command: 'ln -s /dev/null ../changes.patch; echo two > a', repository });
  expect(task).toMatchObject({ status: 'failed', error: { code: 'changes_too_large' } });
});

test('changes beyond the limit fail the task with both sizes', async () => {
  const q = await start();
  const { repository } = await withBundle(q, { a: 'one\n' });
  const task = await work(q, strictest, { command: `yes | head -c ${maxChangesBytes} > big`, repository });
  expect(task).toMatchObject({
    status: 'failed',
    error: {
      code: 'changes_too_large',
      message: expect.stringMatching(/ It has \d{8} bytes; .* A task may change at most 16777216 bytes\.$/),
    },
  });
});

test('a bundle that is gone, other than its task says, or without the commit fails the task with the reason', async () => {
  const q = await start();
  const { repository } = await withBundle(q, { a: 'one\n' });
  const { bundle, commit } = repository;
  const wrong = async (more: object) =>
    (await work(q, strictest, { command: 'true', repository: { ...repository, ...more } })).error;
  expect(await wrong({ bundle: { ...bundle, name: 'other' } })).toMatchObject({
    code: 'file_unavailable',
    message: expect.stringContaining('There is no part 0 of a file other.'),
  });
  expect(await wrong({ bundle: { ...bundle, sha256: '0'.repeat(64) } })).toMatchObject({ code: 'file_unavailable' });
  expect(await wrong({ commit: commit.replace(/^./, (first) => (first === '0' ? '1' : '0')) })).toMatchObject({
    code: 'bad_repository',
    message: expect.stringContaining('Its repository could not be checked out'),
  });
  expect(await wrong({ folder: '../..' })).toMatchObject({ code: 'bad_payload' });
});
