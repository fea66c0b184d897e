/** How steps for workers end when something goes wrong: kills of Gantry and of workers, a cloud that is away, cancels, times, bad workers. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { maxChangesBytes } from '../../../src/contracts/work-queue/task.ts';
import type { LeasedTask } from '../../../src/programs/worker/worker.ts';
import { owner, scratch, steps, type World } from './support.ts';
import { openQueue, openWorkerWorld, repository, type StepQueue } from './worker-support.ts';

const one = (more: Record<string, unknown>) => steps({ build: { executor: 'queue', ...more } });

async function begin(q: StepQueue, folder: string, more: Record<string, unknown>) {
  const world = await openWorkerWorld(q, { folder });
  world.template('t', one(more));
  const { dagId } = await world.run('t');
  return { world, dagId };
}

const at = (world: World, dagId: string, cause: string) =>
  world.until(dagId, (flow) => flow.nodes[0]?.cause === cause || flow.nodes[0]?.cause === 'cannot_start');

const lines = (folder: string) => readFileSync(join(folder, 'workspace', 'a.txt'), 'utf8');

test('a kill after the queue took the task, and before its answer came, adds no second one', async () => {
  const q = await openQueue();
  const folder = repository();
  let added = () => {};
  const isAdded = new Promise<void>((resolve) => {
    added = resolve;
  });
  const deaf: StepQueue = {
    ...q,
    queue: {
      ...q.queue,
      async call(request) {
        const answer = await q.queue.call(request);
        if (request.method !== 'POST' || request.path !== '/beta/work') return answer;
        added();
        return new Promise(() => {});
      },
    },
  };
  const { world, dagId } = await begin(deaf, folder, { command: 'echo two >> a.txt' });
  await isAdded;
  await world.crash();
  const again = await openWorkerWorld(q, { folder });
  q.work();
  expect((await again.settled(dagId)).status).toBe('done');
  expect(await q.tasks()).toHaveLength(1);
  expect(lines(folder)).toBe('one\ntwo\n');
});

test('a step that a worker has survives a kill of Gantry, and its changes are taken once', async () => {
  const q = await openQueue();
  const folder = repository();
  const { world, dagId } = await begin(q, folder, {
    command: 'echo two >> a.txt',
    verify: { command: 'grep two a.txt' },
  });
  await expect.poll(async () => (await q.tasks()).length).toBe(1);
  await world.crash();
  q.work();
  await expect.poll(async () => (await q.tasks())[0]?.status).toBe('succeeded');
  // As after a kill between the change of the files and the commit that records it.
  writeFileSync(join(folder, 'workspace', 'a.txt'), 'one\ntwo\n');
  const again = await openWorkerWorld(q, { folder });
  expect((await again.settled(dagId)).status).toBe('done');
  expect(lines(folder)).toBe('one\ntwo\n');
  expect((await again.node(dagId, 'build')).attempt).toBe(1);
});

test('a worker that dies loses the task, and the next one runs it', async () => {
  const q = await openQueue({ leaseMs: 10_000 });
  const folder = repository();
  const { world, dagId } = await begin(q, folder, { command: 'echo two >> a.txt' });
  await expect.poll(async () => (await q.tasks()).length).toBe(1);
  // It takes the task, and is never heard of again.
  expect((await q.lease('lost')).task).not.toBeNull();
  q.work({ workerId: 'next', waitSeconds: 2 });
  await expect.poll(async () => (await world.pages.flow(dagId)).status).toBe('done');
  expect(lines(folder)).toBe('one\ntwo\n');
  const { history } = await world.pages.node(dagId, 'build');
  expect(history.map(({ detail }) => detail)).toContainEqual(
    expect.stringMatching(/^Worker next runs task task_\w+, attempt 2\.$/),
  );
});

test('a step waits for a cloud that is away, says so, and continues when it is back', async () => {
  const q = await openQueue();
  const folder = repository();
  q.state.away = true;
  const { world, dagId } = await begin(q, folder, { command: 'echo two >> a.txt' });
  await world.until(dagId, (flow) => flow.nodes[0]?.detail?.includes('cannot be asked (the cable is pulled)') === true);
  q.state.away = false;
  q.work();
  expect((await world.settled(dagId)).status).toBe('done');
});

test('a cancel of the run ends the task, and a cancelled step changes nothing', async () => {
  const q = await openQueue();
  const folder = repository();
  const { world, dagId } = await begin(q, folder, { command: 'echo two >> a.txt' });
  await expect.poll(async () => (await q.tasks()).length).toBe(1);
  await world.cancel(dagId, owner);
  expect((await world.until(dagId, (flow) => flow.status === 'cancelled')).nodes[0]).toMatchObject({
    status: 'cancelled',
    detail: 'Its task was cancelled.',
  });
  expect((await q.tasks())[0]?.status).toBe('cancelled');
  expect(lines(folder)).toBe('one\n');
});

test('a cancel just before a kill of Gantry is carried out at the next start', async () => {
  const q = await openQueue();
  const folder = repository();
  const { world, dagId } = await begin(q, folder, { command: 'true' });
  await expect.poll(async () => (await q.tasks()).length).toBe(1);
  await at(world, dagId, 'awaits_worker');
  q.state.away = true;
  await world.cancel(dagId, owner);
  await world.crash();
  q.state.away = false;
  const again = await openWorkerWorld(q, { folder });
  expect((await again.until(dagId, (flow) => flow.status === 'cancelled')).status).toBe('cancelled');
  expect((await q.tasks())[0]?.status).toBe('cancelled');
});

test('a step that is cancelled before the queue was asked never gives its files to a worker', async () => {
  const q = await openQueue();
  const folder = repository();
  q.state.away = true;
  const { world, dagId } = await begin(q, folder, { command: 'true' });
  await world.until(dagId, (flow) => flow.nodes[0]?.detail?.includes('cannot be asked') === true);
  await world.cancel(dagId, owner);
  await world.crash();
  q.state.away = false;
  const stored: string[] = [];
  const watched: StepQueue = {
    ...q,
    queue: {
      ...q.queue,
      call(request) {
        if (request.method === 'PUT') stored.push(request.path);
        return q.queue.call(request);
      },
    },
  };
  const again = await openWorkerWorld(watched, { folder });
  await again.until(dagId, (flow) => flow.status === 'cancelled');
  await expect.poll(async () => (await q.tasks()).map(({ status }) => status)).toEqual(['cancelled']);
  expect(stored).toEqual([]);
});

test('a cancel while the changes are on their way takes none of them', async () => {
  const q = await openQueue();
  const folder = repository();
  let asked = () => {};
  const isAsked = new Promise<void>((resolve) => {
    asked = resolve;
  });
  let answer = () => {};
  const mayAnswer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const slow: StepQueue = {
    ...q,
    queue: {
      ...q.queue,
      async call(request) {
        if (request.method === 'GET' && request.path.includes('.patch/')) {
          asked();
          await mayAnswer;
        }
        return q.queue.call(request);
      },
    },
  };
  const { world, dagId } = await begin(slow, folder, { command: 'echo two >> a.txt' });
  q.work();
  await isAsked;
  await world.cancel(dagId, owner);
  answer();
  await world.until(dagId, (flow) => flow.status === 'cancelled');
  expect(lines(folder)).toBe('one\n');
});

test('a step that no worker takes in its time fails, and its task is ended', async () => {
  const q = await openQueue();
  const { world, dagId } = await begin(q, repository(), { command: 'true', timeout_minutes: 0.03 });
  expect((await world.settled(dagId)).nodes[0]).toMatchObject({ status: 'failed', cause: 'timed_out' });
  expect((await q.tasks())[0]?.status).toBe('cancelled');
});

test('a command that fails fails its step with its exit status and last words, and is tried again as the template says', async () => {
  const q = await openQueue();
  q.work();
  const retry = { max: 1, backoff_seconds: 0 };
  const { world, dagId } = await begin(q, repository(), { command: 'echo no luck >&2; exit 3', retry });
  const { nodes } = await world.settled(dagId);
  expect(nodes[0]).toMatchObject({ status: 'failed', cause: 'exit_status', attempt: 2 });
  expect(nodes[0]?.detail).toMatch(/^It ended with status 3\. [\s\S]*no luck/);
  expect(await q.tasks()).toHaveLength(2);
});

test('while no worker is connected, the step says so', async () => {
  const q = await openQueue();
  const { world, dagId } = await begin(q, repository(), { command: 'true', labels: { gpu: 'a100' } });
  const said = async () => (await world.node(dagId, 'build')).detail;
  await expect
    .poll(said)
    .toMatch(/^(No worker is connected|No connected worker has the label gpu=a100) \(task task_\w+\)\.$/);
});

test('while the only worker is at work on another task, the step waits for its turn', async () => {
  const q = await openQueue();
  const { id } = await q.create({ payload: { command: 'true' } });
  let release = () => {};
  const busy = new Promise<unknown>((resolve) => {
    release = () => resolve({});
  });
  q.work({ run: () => busy });
  await expect.poll(async () => (await q.task(id)).status).toBe('running');
  // It asked for a task long ago.
  await q.store.write((tx) => tx.run('DELETE FROM work_poller'));
  const { world, dagId } = await begin(q, repository(), { command: 'true' });
  const said = async () => (await world.node(dagId, 'build')).detail;
  await expect.poll(said).toMatch(/^It waits for its turn \(task task_\w+\)\.$/);
  release();
});

test('a run with a step for workers does not start, not even to try, where there is no queue', async () => {
  const q = await openQueue();
  const world = await openWorkerWorld(q, { queue: { ...q.queue, problem: () => 'This computer is not paired.' } });
  world.template('t', one({ command: 'true' }));
  for (const dryRun of [true, false]) {
    await expect(world.run('t', { dryRun })).rejects.toMatchObject({
      code: 'refused',
      fact: 'The step "build" is for a worker of the queue. This computer is not paired.',
    });
  }
});

test('a folder without a commit is named, and nothing is added to the queue', async () => {
  const q = await openQueue();
  const { world, dagId } = await begin(q, scratch(), { command: 'true' });
  expect((await world.settled(dagId)).nodes[0]).toMatchObject({
    status: 'failed',
    cause: 'cannot_start',
    detail: expect.stringContaining('is not in a git repository with a commit.'),
  });
  expect(await q.tasks()).toHaveLength(0);
});

test('changes that meet newer ones of the same lines are refused, and both are kept', async () => {
  const q = await openQueue();
  const folder = repository();
  const { world, dagId } = await begin(q, folder, { command: 'echo two > a.txt' });
  await expect.poll(async () => (await q.tasks()).length).toBe(1);
  writeFileSync(join(folder, 'workspace', 'a.txt'), 'three\n');
  q.work();
  expect((await world.settled(dagId)).nodes[0]).toMatchObject({
    status: 'failed',
    cause: 'changes_refused',
    detail: expect.stringContaining('do not apply'),
  });
  expect(lines(folder)).toBe('three\n');
  const { files, proofs } = await world.pages.node(dagId, 'build');
  const diff = files.find(({ name }) => name === 'build-1.diff');
  expect(readFileSync(join(folder, 'workspace', diff?.path ?? ''), 'utf8')).toContain('+two');
  expect(proofs.find(({ receiptId }) => receiptId === diff?.receiptId)?.outcome).toBe('rejected');
});

/** A worker that returns this patch, whatever it got. */
const forger = (q: StepQueue, patch: string, more: object = {}, file: object = {}) =>
  q.work({
    run: async ({ task, signal }: LeasedTask) => {
      const { commit } = (task.payload as { repository: { commit: string } }).repository;
      const kept = await q.files.keep(`${task.id}.patch`, Buffer.from(patch), signal);
      return {
        exit_code: 0,
        stdout: '',
        stderr: '',
        truncated: false,
        changes: { commit, patch: { ...kept, ...file }, ...more },
      };
    },
  });

const adds = (path: string, mode = '100644', content = 'x') => `diff --git a/${path} b/${path}
new file mode ${mode}
--- /dev/null
+++ b/${path}
@@ -0,0 +1 @@
+${content}
\\ No newline at end of file
`;

test.each([
  ['a link', adds('harmless') + adds('link', '120000', '/etc'), 'a symbolic link'],
  [
    'a file behind a link of its own',
    adds('harmless') + adds('link', '120000', '/tmp') + adds('link/x'),
    'no patch of the files',
  ],
  ['a file above the repository', adds('harmless') + adds('../escaped'), 'no patch of the files'],
  ['a file by its full path', adds('harmless') + adds('/tmp/gantry-escaped'), 'no patch of the files'],
  ['a file of git', adds('harmless') + adds('.git/hooks/post-checkout', '100755'), 'no patch of the files'],
  ['a file of git below a folder', adds('harmless') + adds('sub/.GIT/config'), 'no patch of the files'],
  [
    'a submodule',
    adds('harmless') + adds('sub', '160000', `Subproject commit ${'1'.repeat(40)}`),
    'an entry of mode 160000',
  ],
  ['a proof', adds('harmless') + adds('.gantry/ledger/proofs/aa/forged'), 'a file of Gantry'],
  ['no patch at all', 'rm -rf /\n', 'no patch of the files'],
])('a worker that returns %s changes nothing', async (_, patch, why) => {
  const q = await openQueue();
  const folder = repository();
  forger(q, patch);
  const { world, dagId } = await begin(q, folder, { command: 'true' });
  expect((await world.settled(dagId)).nodes[0]).toMatchObject({
    status: 'failed',
    cause: 'changes_refused',
    detail: expect.stringContaining(why),
  });
  for (const path of ['harmless', 'link', '../escaped', 'sub']) {
    expect([path, existsSync(join(folder, 'workspace', path))]).toEqual([path, false]);
  }
  expect(existsSync('/tmp/gantry-escaped')).toBe(false);
});

test('a patch that is larger than any worker may return is refused before it is fetched', async () => {
  const q = await openQueue();
  const size = maxChangesBytes + 1;
  forger(q, adds('new'), {}, { size });
  const { world, dagId } = await begin(q, repository(), { command: 'true' });
  expect((await world.settled(dagId)).nodes[0]).toMatchObject({
    status: 'failed',
    cause: 'changes_refused',
    detail: expect.stringContaining(`The patch has ${size} bytes; at most ${maxChangesBytes} are taken.`),
  });
});

test('a worker that knows no repositories, or answers for another commit, fails the step', async () => {
  const q = await openQueue();
  q.work({ run: async () => ({ exit_code: 0, stdout: 'all well', stderr: '', truncated: false }) });
  const { world, dagId } = await begin(q, repository(), { command: 'true' });
  const failed = { status: 'failed', cause: 'worker_failed', detail: expect.stringContaining('Update the worker.') };
  expect((await world.settled(dagId)).nodes[0]).toMatchObject(failed);

  const other = await openQueue();
  forger(other, adds('new'), { commit: '1'.repeat(40) });
  const second = await begin(other, repository(), { command: 'true' });
  expect((await second.world.settled(second.dagId)).nodes[0]).toMatchObject(failed);
});

test('a task that the queue no longer has fails the step, and names the task', async () => {
  const q = await openQueue();
  const { world, dagId } = await begin(q, repository(), { command: 'true' });
  await expect.poll(async () => (await q.tasks()).length).toBe(1);
  const [task] = await q.tasks();
  await q.store.write((tx) => tx.run('DELETE FROM work_task WHERE id = ?', task?.id ?? ''));
  expect((await world.settled(dagId)).nodes[0]).toMatchObject({
    status: 'failed',
    cause: 'worker_failed',
    detail: expect.stringContaining(`There is no task ${task?.id}.`),
  });
});
