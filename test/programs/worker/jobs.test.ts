/**
 * Tasks as Jobs of a cluster, before an API server that answers with states of Pods as a real one had them, and holds what it is given against two
 * versions of the API's schemas. `npm run test:cluster` runs the same on a real one.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { Task } from '../../../src/contracts/work-queue/task.ts';
import { commandRunner } from '../../../src/programs/worker/command.ts';
import { openJobs } from '../../../src/programs/worker/jobs.ts';
import { findSandbox } from '../../../src/programs/worker/sandbox.ts';
import type { KubernetesObject } from '../../deploy/kubernetes/rendered.ts';
import { apis } from '../../deploy/kubernetes/schemas.ts';
import { textOf } from '../../docs/blocks.ts';
import { type Case, type StandInCluster, startStandInCluster } from '../../support/stand-in-cluster.ts';

const open = await findSandbox({ wanted: false, network: false, path: '' });
const cli = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const image = 'ghcr.io/acme/tools:1';

async function jobsAt(cluster: StandInCluster, more: Partial<Parameters<typeof openJobs>[0]> = {}) {
  const notes: string[] = [];
  const jobs = await openJobs({
    kubeconfig: cluster.kubeconfig,
    namespace: cluster.namespace,
    images: ['ghcr.io/acme'],
    usual: null,
    pull: 'missing',
    network: false,
    memory: 64,
    cpus: 0.5,
    worker: 'ada',
    pod: null,
    note: (words) => notes.push(words),
    patienceMs: 2_000,
    againMs: 5,
    ...more,
  });
  onTestFinished(() => jobs.close());
  const run = commandRunner(open, (why) => notes.push(why), jobs);
  const lease = { id: 'lease_1', fence: 7, expires_at: '', ttl_seconds: 60, attempt: 3 };
  return {
    jobs,
    notes,
    run: (id: string, payload: unknown, more: Partial<Task> = {}, signal = new AbortController().signal) =>
      run({ task: { id: `task_${id}`, env: {}, sandbox_image: image, payload, ...more } as Task, lease, signal }),
    failure: (id: string, payload: unknown, more: Partial<Task> = {}, signal = new AbortController().signal) =>
      run({ task: { id: `task_${id}`, env: {}, sandbox_image: image, payload, ...more } as Task, lease, signal }).then(
        () => null,
        (thrown: { error: unknown }) => thrown.error,
      ),
  };
}

async function world(which: Case, more: Partial<Parameters<typeof openJobs>[0]> = {}) {
  const cluster = await startStandInCluster(which);
  return { cluster, ...(await jobsAt(cluster, more)) };
}
const running = (cluster: StandInCluster) => expect.poll(cluster.calls).toContain('watch pods');

test('a task runs as a Job of its image, with limits and without rights, which is removed', async () => {
  const { cluster, jobs, run } = await world('ok', { pod: { name: 'worker-1', uid: 'u-1' } });
  expect(jobs.images).toEqual(['ghcr.io/acme']);
  cluster.write('out\n');
  const result = await run('ok', { command: 'echo $(id -u) $$' }, { env: { TOKEN: 'hush' } });
  expect(result).toMatchObject({ exit_code: 0, stdout: 'out\n', stderr: '', truncated: false });
  expect([...cluster.jobs]).toEqual([]);
  expect(cluster.removed).toEqual(['gantry-task-ok-7']);
  const job = cluster.asked.find(({ call }) => call === 'create jobs')?.body as KubernetesObject;
  expect(apis.newest(job)).toEqual([]);
  // What a cluster of 1.20 leaves out, and nothing else.
  expect(apis['1.20'](job)).toEqual([expect.stringContaining('podReplacementPolicy')]);
  expect(job).toMatchObject({
    metadata: {
      labels: { 'gantry.dev/task': 'task_ok', 'gantry.dev/network': 'none' },
      ownerReferences: [{ kind: 'Pod', name: 'worker-1', uid: 'u-1' }],
    },
    spec: { backoffLimit: 0, activeDeadlineSeconds: 3600 + 600, ttlSecondsAfterFinished: 600 },
  });
  const { spec } = job.spec.template;
  expect(spec).toMatchObject({
    restartPolicy: 'Never',
    automountServiceAccountToken: false,
    enableServiceLinks: false,
  });
  expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
  const [container] = spec.containers;
  expect(container).toMatchObject({
    image,
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    },
    resources: { limits: { memory: '64Mi', cpu: '0.5' } },
  });
  // Kubernetes reads `$$` as one `$`, and `$(id -u)` as a variable.
  expect(container.command).toEqual(['/bin/sh', '-c', 'echo $$(id -u) $$$$']);
  expect(container.env).toContainEqual({ name: 'TOKEN', value: 'hush' });
  expect(cluster.asked.map(({ url }) => url).join()).not.toContain('hush');
});

test('an exit code fails the task, with the last of what it wrote', async () => {
  const { cluster, failure } = await world('exit');
  cluster.write(`${'x'.repeat(70_000)}\nthe end`);
  expect(await failure('exit', { command: 'make' })).toEqual({
    code: 'exit_3',
    message: expect.stringMatching(/exit code 3[\s\S]*the end$/),
  });
});

test('a program that the image lacks, and memory that is used up, are told apart from other ends', async () => {
  const start = await world('start');
  expect(await start.failure('start', { command: ['nothing'] })).toMatchObject({ code: 'cannot_start' });
  expect(await (await world('start')).failure('start', { command: 'x' })).toMatchObject({ code: 'no_shell' });
  expect(await (await world('memory')).failure('memory', { command: 'x' })).toMatchObject({ code: 'out_of_memory' });
});

test('an image that can never be had fails the task at once, with the words of the cluster', async () => {
  const { failure } = await world('name');
  expect(await failure('name', { command: 'x' })).toEqual({
    code: 'no_such_image',
    message: expect.stringContaining('invalid reference format'),
  });
});

test('at the end of its time a task is ended and its Job removed', async () => {
  const { cluster, failure } = await world('ok');
  cluster.hold('Running');
  cluster.write('so far\n');
  const failed = failure('ok', { command: 'sleep 60', timeout_seconds: 0.2 });
  await expect.poll(() => cluster.removed).toEqual(['gantry-task-ok-7']);
  expect(await failed).toEqual({ code: 'timeout', message: expect.stringContaining('so far') });
});

test('a cancelled task’s Job is removed', async () => {
  const { cluster, failure } = await world('ok');
  cluster.hold('Running');
  const cancel = new AbortController();
  const failed = failure('ok', { command: 'sleep 60' }, {}, cancel.signal);
  await running(cluster);
  expect([...cluster.jobs.keys()]).toEqual(['gantry-task-ok-7']);
  cancel.abort();
  expect(await failed).toMatchObject({ code: 'ended' });
  expect([...cluster.jobs]).toEqual([]);
});

test('an API server that is away for a while costs a task nothing', async () => {
  const { cluster, run } = await world('ok');
  cluster.write('out\n');
  let away = 0;
  cluster.refuse((call) => {
    // Every other call of each kind is cut, or answered that the server is busy.
    away += 1;
    return away % 2 === 0 ? null : call === 'list pods' ? { status: 503, message: 'busy' } : 'cut';
  });
  expect(await run('ok', { command: 'x' })).toMatchObject({ exit_code: 0, stdout: 'out\n' });
  expect([...cluster.jobs]).toEqual([]);
});

test('a right that is taken away is named, and no task with an image is asked for until it is back', async () => {
  const message = 'jobs.batch is forbidden: User "it" cannot list resource "jobs" in API group "batch"';
  const cluster = await startStandInCluster('ok');
  cluster.refuse((call) => (call.endsWith('jobs') ? { status: 403, message } : null));
  const { jobs, notes, failure } = await jobsAt(cluster);
  expect(jobs.images).toEqual([]);
  expect(notes.join()).toContain('cannot list resource "jobs"');
  expect(await failure('ok', { command: 'x' })).toMatchObject({
    code: 'cluster_failed',
    message: expect.stringContaining('cannot list resource "jobs"'),
  });
});

test('a Pod that somebody removes fails the task, and the Pod that the cluster makes for it is not waited for', async () => {
  const { cluster, failure } = await world('removed');
  expect(await failure('removed', { command: 'sleep 60' })).toMatchObject({ code: 'container_removed' });
  expect([...cluster.jobs]).toEqual([]);
});

test('a Job that waits too long says what holds it up: no Pod, no room, or an image that is still pulled', async () => {
  const full = await world('ok', { pendingMs: 50 });
  full.cluster.makeNoPods();
  full.cluster.tellEvent('pods "a" is forbidden: exceeded quota: tasks');
  expect(await full.failure('ok', { command: 'x' })).toMatchObject({
    code: 'no_room',
    message: expect.stringMatching(/minutes: pods "a" is forbidden: exceeded quota: tasks$/),
  });
  const pulls = await world('ok', { pendingMs: 50 });
  pulls.cluster.hold('Pending');
  pulls.cluster.tellEvent('Successfully assigned tasks/a to node1');
  pulls.cluster.tellEvent(`Pulling image "${image}"`);
  expect(await pulls.failure('ok', { command: 'x' })).toMatchObject({
    code: 'image_pull_failed',
    message: expect.stringMatching(/minutes, and still pulls ghcr\.io\/acme\/tools:1\.$/),
  });
  expect([...full.cluster.jobs, ...pulls.cluster.jobs]).toEqual([]);
});

test('a Job that somebody removes before it has a Pod fails the task at once', async () => {
  const { cluster, failure } = await world('ok');
  cluster.makeNoPods();
  const failed = failure('ok', { command: 'x' });
  await running(cluster);
  cluster.jobs.clear();
  expect(await failed).toEqual({
    code: 'container_removed',
    message: 'Its Job gantry-task-ok-7 was removed before it ran.',
  });
});

test('what an earlier worker left of the same task, or of the same name, is removed first, and nothing of others', async () => {
  const cluster = await startStandInCluster('ok');
  const left = (name: string, labels: Record<string, string>) => {
    const body = { metadata: { name, labels: { 'app.kubernetes.io/managed-by': 'gantry-worker', ...labels } } };
    cluster.jobs.set(name, body);
  };
  const first = await jobsAt(cluster);
  cluster.hold('Running');
  const abandoned = first.failure('ok', { command: 'sleep 60' });
  await running(cluster);
  const [own] = [...cluster.jobs.values()].map(({ metadata }) => metadata.labels['gantry.dev/worker'] ?? '');
  left('of-this-name', { 'gantry.dev/worker': own ?? '', 'gantry.dev/task': 'task_a' });
  left('of-this-task', { 'gantry.dev/worker': 'x', 'gantry.dev/task': 'task_b' });
  left('of-others', { 'gantry.dev/worker': 'x', 'gantry.dev/task': 'task_c' });
  // As one that was killed and started again: it runs nothing yet.
  const { failure } = await jobsAt(cluster);
  expect(cluster.removed.toSorted()).toEqual(['gantry-task-ok-7', 'of-this-name']);
  await abandoned;
  cluster.hold(null);
  await failure('b', { command: 'x' });
  expect(cluster.removed).toContain('of-this-task');
  expect([...cluster.jobs.keys()]).toEqual(['of-others']);
});

test('a Job that ended long ago is removed where the cluster does not do that', async () => {
  const cluster = await startStandInCluster('ok');
  const ended = (name: string, at: number) => {
    const labels = { 'app.kubernetes.io/managed-by': 'gantry-worker' };
    const lastTransitionTime = new Date(at).toISOString();
    const status = { conditions: [{ type: 'Failed', status: 'True', lastTransitionTime }] };
    cluster.jobs.set(name, { metadata: { name, labels }, status });
  };
  // By the cluster's clock, which is days behind the worker's: what just ended there may still be read by another worker.
  ended('long-ago', 0);
  ended('just-now', 10_000_000 - 1_000);
  cluster.setClock(10_000_000);
  await jobsAt(cluster);
  expect(cluster.removed).toEqual(['long-ago']);
});

test('nothing of a task runs in the worker: without an image it needs the usual one', async () => {
  const { cluster, failure } = await world('ok');
  expect(await failure('ok', { command: 'x' }, { sandbox_image: null })).toMatchObject({ code: 'no_image' });
  expect(await failure('ok', { command: 'x', stdin: 'words' })).toMatchObject({ code: 'no_stdin' });
  expect(await failure('ok', { command: 'x' }, { sandbox_image: 'alpine:3' })).toMatchObject({ code: 'no_such_image' });
  expect(cluster.calls()).not.toContain('create jobs');
  const usual = await world('ok', { usual: image });
  expect(await usual.run('ok', { command: 'x' }, { sandbox_image: null })).toMatchObject({ exit_code: 0 });
});

test('the Role of the bases permits each call of a worker, and nothing else', async () => {
  const [role] = parseAllDocuments(textOf('deploy/kubernetes/components/worker-jobs/role.yaml')).map((one) =>
    one.toJS(),
  );
  const permitted = (role.rules as { resources: string[]; verbs: string[] }[]).flatMap(({ resources, verbs }) =>
    resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
  );
  const { cluster, run } = await world('ok');
  await run('ok', { command: 'x' });
  // Asked only of a Job that gets no Pod for minutes.
  expect([...cluster.calls(), 'list events'].toSorted()).toEqual(permitted.toSorted());
});

test('a cluster that cannot be used stops the start in a sentence', async () => {
  const cluster = await startStandInCluster('ok');
  await expect(jobsAt(cluster, { kubeconfig: '/nowhere/kubeconfig' })).rejects.toThrow(
    '/nowhere/kubeconfig cannot be used',
  );
});

test.each([
  { words: ['--kubernetes', 'A B'], said: '--kubernetes "A B" is not the name of a namespace.' },
  { words: ['--kubernetes', 'a'], said: '--kubernetes is given, but this worker runs in no cluster.' },
  { words: ['--kubernetes', 'a', '--docker', '/x'], said: 'Both --docker and --kubernetes are given.' },
  { words: ['--task-image', 'alpine'], said: '--task-image is given without --kubernetes.' },
])('gantry worker $words is refused in a sentence', ({ words, said }) => {
  const given = ['worker', '--url', 'http://127.0.0.1:1', '--key-file', fileURLToPath(import.meta.url)];
  const { KUBECONFIG: _, KUBERNETES_SERVICE_HOST: __, ...env } = process.env;
  const { status, stderr } = spawnSync(process.execPath, [cli, ...given, ...words], { encoding: 'utf8', env });
  expect([status, stderr.split('\n')[0]]).toEqual([64, said]);
});
