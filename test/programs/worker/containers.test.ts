/** Tasks with an image, before an engine that answers what a real one was recorded to answer; the real one is in test/real/docker/tasks.ts. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import type { Task } from '../../../src/contracts/work-queue/task.ts';
import { commandRunner } from '../../../src/programs/worker/command.ts';
import { type ContainerSettings, openContainers } from '../../../src/programs/worker/containers.ts';
import { findSandbox } from '../../../src/programs/worker/sandbox.ts';
import { startQueue } from '../../cloud-api/work-queue/support.ts';
import { engines } from '../../support/engines.ts';
import { type StandInEngine, startStandInEngine } from '../../support/stand-in-engine.ts';
import { begin } from './support.ts';

const open = await findSandbox({ wanted: false, network: false, path: '' });
const cli = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const image = 'ghcr.io/acme/tools:1';

async function containersAt(engine: StandInEngine, more: Partial<ContainerSettings> = {}) {
  const notes: string[] = [];
  const containers = await openContainers({
    socket: engine.socket,
    images: ['ghcr.io/acme'],
    pull: 'missing',
    maxImage: 100,
    network: false,
    memory: 64,
    cpus: 0.5,
    processes: 32,
    now: () => 1_000_000,
    note: (words) => notes.push(words),
    callMs: 2_000,
    ...more,
  });
  onTestFinished(() => containers.close());
  const run = commandRunner(open, (why) => notes.push(why), containers);
  const task = { id: 'task_1', payload: {}, env: {}, sandbox_image: image };
  const lease = { id: 'lease_1', fence: 7, expires_at: '', ttl_seconds: 60, attempt: 3 };
  return {
    containers,
    notes,
    run: (payload: unknown, more: Partial<Task> = {}, signal = new AbortController().signal) =>
      run({ task: { ...task, payload, ...more } as Task, lease, signal }),
    failure: (payload: unknown, more: Partial<Task> = {}, signal = new AbortController().signal) =>
      run({ task: { ...task, payload, ...more } as Task, lease, signal }).then(
        () => null,
        (thrown: { error: unknown }) => thrown.error,
      ),
  };
}

const started = (engine: StandInEngine) => expect.poll(engine.what).toContain('POST /containers/wait');

test('a task runs in a container of its image, with limits and without rights, which is removed', async () => {
  const engine = await startStandInEngine();
  const { run, containers } = await containersAt(engine);
  expect(containers.images).toEqual(['ghcr.io/acme']);
  const running = run({ command: 'make', stdin: 'from stdin' }, { env: { TOKEN: 'hush' } });
  await started(engine);
  await expect.poll(engine.input).toContain('from stdin');
  engine.ends();
  expect(await running).toMatchObject({ exit_code: 0, stdout: 'out\n', stderr: 'err\n', truncated: false });
  expect(engine.isThere()).toBe(false);
  const { body } = engine.asked.find(({ what }) => what === 'POST /containers/create')!;
  expect(body).toMatchObject({ Image: image, Entrypoint: ['/bin/sh', '-c', 'make'], WorkingDir: '/work' });
  expect(body.HostConfig).toMatchObject({
    ...{ NetworkMode: 'none', ReadonlyRootfs: true, CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'] },
    ...{ Memory: 64 << 20, MemorySwap: 64 << 20, NanoCpus: 5e8, PidsLimit: 32, LogConfig: { Type: 'none' } },
  });
  // A volume of the image would lie on the engine's disk, which has no limit.
  expect(Object.keys((body.HostConfig as { Tmpfs: object }).Tmpfs)).toEqual(['/work', '/tmp', '/data']);
  expect(body.Env).toContain('TOKEN=hush');
  const elsewhere = engine.asked.map(({ path, body: { Env, ...rest } }) => JSON.stringify([path, rest]));
  expect(elsewhere.join()).not.toContain('hush');
});

test('an image that is not there is pulled, and the pull is told', async () => {
  const engine = await startStandInEngine();
  let has = false;
  engine.answers(({ what }) => {
    if (what === 'GET /images/json' && !has) return { status: 404, body: { message: `No such image: ${image}` } };
    if (what !== 'POST /images/create') return undefined;
    has = true;
    return { status: 200, body: '{"status":"Pulling fs layer","progressDetail":{},"id":"a"}\n{"status":"Done"}\n' };
  });
  const { run, notes } = await containersAt(engine);
  const running = run({ command: 'true' });
  await started(engine);
  engine.ends();
  await running;
  expect(notes).toEqual([`Pulling ${image}.`, `Pulled ${image}.`]);
});

const nothing = { status: 404, body: { message: 'no such image' } };
test.each([
  {
    name: 'a worker that pulls none',
    settings: { pull: 'never' as const },
    pulled: nothing,
    error: { code: 'no_such_image', message: expect.stringContaining('this worker pulls none') },
  },
  {
    name: 'a registry without it',
    settings: {},
    pulled: { status: 404, body: { message: 'pull access denied for ghcr.io/acme/tools' } },
    error: {
      code: 'no_such_image',
      message: 'The container engine answered: pull access denied for ghcr.io/acme/tools.',
    },
  },
  {
    name: 'a pull that fails in the middle',
    settings: {},
    pulled: { status: 200, body: '{"status":"Pulling"}\n{"error":"unexpected EOF"}\n' },
    error: { code: 'image_pull_failed', message: `${image} was not pulled: unexpected EOF` },
  },
  {
    name: 'a pull that the engine only says it did',
    settings: {},
    pulled: { status: 200, body: '{"status":"Done"}\n' },
    error: { code: 'image_pull_failed', message: expect.stringContaining('does not have it') },
  },
  {
    name: 'an image too large, before all of it is here',
    settings: {},
    pulled: {
      status: 200,
      body: `{"id":"a","progressDetail":{"current":1,"total":${200 << 20}}}\n{"status":"never read"}`,
    },
    error: { code: 'image_too_large', message: `${image} has 200 MiB; this worker runs images of at most 100.` },
  },
])('$name fails the task, and nothing is started', async ({ settings, pulled, error }) => {
  const engine = await startStandInEngine();
  engine.answers(({ what }) => {
    if (what === 'GET /images/json') return nothing;
    return what === 'POST /images/create' ? pulled : undefined;
  });
  const { failure } = await containersAt(engine, settings);
  expect(await failure({ command: 'true' })).toEqual(error);
  expect(engine.what()).not.toContain('POST /containers/create');
});

test('an image too large when unpacked is removed again only if this task fetched it', async () => {
  const engine = await startStandInEngine();
  let has = true;
  const large = { status: 200, body: { Id: 'sha256:1', Size: 300 << 20, Config: {} } };
  engine.answers(({ what }) => {
    if (what === 'GET /images/json') return has ? large : nothing;
    if (what !== 'POST /images/create') return undefined;
    has = true;
    return { status: 200, body: '{"status":"Done"}\n' };
  });
  const { failure } = await containersAt(engine);
  const removal = `DELETE /images/${image}`;
  expect(await failure({ command: 'true' })).toMatchObject({ code: 'image_too_large' });
  expect(engine.what()).not.toContain(removal);
  has = false;
  expect(await failure({ command: 'true' })).toMatchObject({ code: 'image_too_large' });
  expect(engine.what()).toContain(removal);
});

test.each(['../containers/x', 'ghcr.io/acme/../../containers/x', 'a?force=1', 'a b', '/etc'])(
  'the name %j is never a part of a call to the engine',
  async (name) => {
    const engine = await startStandInEngine();
    const { failure } = await containersAt(engine, { images: ['*'] });
    expect(await failure({ command: 'true' }, { sandbox_image: name })).toEqual({
      code: 'no_such_image',
      message: `${JSON.stringify(name)} is not the name of an image.`,
    });
    expect(engine.what().some((what) => what.includes('images'))).toBe(false);
  },
);

test('an image that is not among the worker’s is refused, whatever the queue says', async () => {
  const engine = await startStandInEngine();
  const { failure } = await containersAt(engine);
  expect(await failure({ command: 'true' }, { sandbox_image: 'ghcr.io/acme-other/api' })).toMatchObject({
    code: 'no_such_image',
    message: 'This worker runs only images of ghcr.io/acme, not ghcr.io/acme-other/api.',
  });
});

test('an engine that says yes and does nothing fails the task', async () => {
  const engine = await startStandInEngine();
  engine.answers(({ what }) => {
    if (what === 'POST /containers/start') return { status: 204, body: '' };
    return what === 'POST /containers/wait' ? { status: 200, body: { StatusCode: 0 } } : undefined;
  });
  const { failure } = await containersAt(engine);
  expect(await failure({ command: 'true' })).toEqual({
    code: 'engine_failed',
    message: 'The container engine said that it started the container, and did not.',
  });
  expect(engine.isThere()).toBe(false);
});

test.each(['GET /images/json', 'POST /containers/create', 'POST /containers/start'])(
  'an engine that hangs at %s fails the task, which is not stuck',
  async (at) => {
    const engine = await startStandInEngine();
    engine.answers(({ what }) => (what === at ? null : undefined));
    const { failure } = await containersAt(engine);
    expect(await failure({ command: 'true' })).toMatchObject({
      code: 'engine_failed',
      message: expect.stringContaining('did not answer in time'),
    });
    expect(engine.isThere()).toBe(false);
  },
);

test('an image without a shell or without the program says so', async () => {
  const engine = await startStandInEngine();
  const prefix = 'failed to create shim task: OCI runtime create failed: runc create failed:';
  engine.answers(({ what }) => {
    const message = `${prefix} exec: "/bin/sh": stat /bin/sh: no such file or directory: unknown`;
    return what === 'POST /containers/start' ? { status: 400, body: { message } } : undefined;
  });
  const { failure } = await containersAt(engine);
  expect(await failure({ command: 'true' })).toMatchObject({
    code: 'no_shell',
    message: expect.stringContaining(image),
  });
  expect(await failure({ command: ['nosh'] })).toMatchObject({
    code: 'cannot_start',
    message: `${image} has no program "nosh" that can be started.`,
  });
  expect(engine.isThere()).toBe(false);
});

test('a container that a person removes ends its task', async () => {
  const engine = await startStandInEngine();
  const { failure } = await containersAt(engine);
  const failed = failure({ command: 'sleep 60' });
  await started(engine);
  engine.removed();
  expect(await failed).toMatchObject({ code: 'container_removed' });
});

test.each([
  { name: 'its time is over', payload: { timeout_seconds: 0.2 }, stop: false, code: 'timeout' },
  { name: 'it is stopped', payload: {}, stop: true, code: 'ended' },
])('a container is ended when $name, and is gone before the task ends', async ({ payload, stop, code }) => {
  const engine = await startStandInEngine();
  const { failure } = await containersAt(engine);
  const ending = new AbortController();
  const failed = failure({ command: 'sleep 60', ...payload }, {}, ending.signal);
  await started(engine);
  if (stop) ending.abort();
  expect(await failed).toMatchObject({ code });
  expect(engine.what()).toContain('POST /containers/kill');
  expect(engine.isThere()).toBe(false);
});

test('an engine that does not end a container is told of, and so is what it leaves', async () => {
  const engine = await startStandInEngine();
  engine.answers(({ what }) => (/kill|DELETE/.test(what) ? { status: 204, body: '' } : undefined));
  const { failure, notes } = await containersAt(engine);
  expect(await failure({ command: 'sleep 60', timeout_seconds: 0.1 })).toMatchObject({
    code: 'engine_failed',
    message: expect.stringContaining('did not end the container d70a4cb8094a'),
  });
  expect(notes).toEqual([expect.stringContaining('is left behind')]);
});

test('what killed workers left is removed at the start, and what live ones run is not', async () => {
  const engine = await startStandInEngine();
  const labels = (worker: string, ends: number) => ({ 'gantry.worker': worker, 'gantry.ends': String(ends) });
  const removed: string[] = [];
  let mine = '';
  engine.answers(({ what, path, body }) => {
    if (what === 'POST /containers/create') mine = (body.Labels as Record<string, string>)['gantry.worker'] ?? '';
    if (what === 'GET /containers/json' && path.includes('gantry.worker')) {
      const [place] = mine.split(' ');
      const list = [
        { Id: 'dead', Labels: labels(`${place} 4194300 1`, 2_000_000) },
        { Id: 'reused', Labels: labels(`${place} ${process.pid} 1`, 2_000_000) },
        { Id: 'elsewhere', Labels: labels('another 1 1', 2_000_000) },
        { Id: 'late', Labels: labels('another 1 1', 999_999) },
      ];
      return { status: 200, body: mine === '' ? [] : list };
    }
    const [, id] = /^DELETE \/containers\/(\w+)$/.exec(what) ?? [];
    if (id === undefined) return undefined;
    removed.push(id);
    return { status: 204, body: '' };
  });
  const first = await containersAt(engine);
  const running = first.run({ command: 'true' });
  await started(engine);
  engine.ends();
  await running;
  await containersAt(engine);
  expect(removed).toEqual(['dead', 'reused', 'late']);
});

test.each([
  { words: ['--docker', 'docker.sock'], said: '--docker "docker.sock" is not the path of a socket.' },
  { words: ['--docker', '/x', '--pull', 'often'], said: '--pull is "often".' },
  { words: ['--docker', '/x', '--task-cpus', '0'], said: '--task-cpus is "0".' },
  { words: ['--docker', '/x', '--images', 'a b'], said: '--images "a b" is not a list of images.' },
])('gantry worker $words is refused in a sentence', ({ words, said }) => {
  const given = ['worker', '--url', 'http://127.0.0.1:1', '--key-file', fileURLToPath(import.meta.url)];
  const { status, stderr } = spawnSync(process.execPath, [cli, ...given, ...words], { encoding: 'utf8' });
  expect(status).toBe(64);
  expect(stderr.split('\n')[0]).toBe(said);
});

test('a worker says that it runs images only while its engine answers, and the task waits for that', async () => {
  const q = await startQueue(engines[0]!, { real: true });
  const engine = await startStandInEngine();
  engine.answers(({ what }) => (what === 'GET /_ping' ? null : undefined));
  const { containers, notes, run } = await containersAt(engine);
  expect(notes).toEqual([expect.stringContaining('This worker takes no task with an image meanwhile.')]);
  const { id } = await q.create({ payload: { command: 'true' }, sandbox_image: image });
  const can = {
    labels: {},
    get images() {
      return containers.images;
    },
  };
  const { kinds } = begin(q.server.port, ({ task, signal }) => run(task.payload, task, signal), {
    can,
    waitSeconds: 1,
  });
  await expect.poll(async () => (await q.task(id)).waiting_for).toBe(`No connected worker runs the image ${image}.`);
  engine.answers(() => undefined);
  await expect.poll(engine.what).toContain('POST /containers/wait');
  engine.ends();
  await expect.poll(kinds).toContain('succeeded');
  expect(await q.task(id)).toMatchObject({ status: 'succeeded', result: { stdout: 'out\n' } });
}, 60_000);
