/**
 * Tasks with an image on a real engine: `gantry start`, `gantry worker --docker` and a Docker daemon of its own, without bridge. ../docker.ts
 * starts it.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Task } from '../../../src/contracts/work-queue/task.ts';
import { gantryCommand, type Product, scratchHome, startProduct } from '../../support/bench/product.ts';
import { type Daemon, importImage, startDaemon } from '../../support/docker/daemon.ts';
import { startVictim, type Victim } from '../../support/victim.ts';
import { createScenes, until } from '../scenes.ts';

const image = 'gantry.test/tools:1';
const programs = ['sh', 'cat', 'id', 'sleep', 'touch', 'ls', 'grep', 'head', 'seq', 'tr', 'mkdir'];
const seconds = 1_000;
/** A lease, and the time in which the next worker asks. */
const leaseMs = 90 * seconds;

const { scene, failed, fail } = createScenes();

interface Stage {
  readonly daemon: Daemon;
  readonly product: Product;
  readonly folder: string;
  readonly keyFile: string;
  readonly workers: Victim[];
}

function work({ product, keyFile, folder, daemon, workers }: Stage, ...more: readonly string[]): Victim {
  const given = ['--url', product.origin, '--key-file', keyFile, '--spool', join(folder, 'spool')];
  const limits = ['--task-memory', '64', '--task-processes', '32', '--max-image', '50'];
  const engine = ['--docker', daemon.socket, '--images', 'gantry.test'];
  const worker = startVictim({
    command: [...gantryCommand, 'worker', ...given, ...limits, ...engine, ...more],
    env: { HOME: folder, GANTRY_HOME: join(folder, 'home') },
  });
  workers.push(worker);
  return worker;
}

async function handIn({ product }: Stage, payload: unknown, more: Partial<Task> = {}): Promise<string> {
  const task = { payload, sandbox_image: image, ...more };
  return (await product.web.call<{ id: string }>('POST', '/beta/work', task)).id;
}

const taskOf = async ({ product }: Stage, id: string) =>
  (await product.web.call<{ task: Task }>('GET', `/beta/work/${id}`)).task;

async function ended(stage: Stage, id: string, ms = 60 * seconds): Promise<Task> {
  const over = ['succeeded', 'failed', 'cancelled'];
  return until(
    `task ${id} ends`,
    async () => {
      const task = await taskOf(stage, id);
      return over.includes(task.status) && task;
    },
    ms,
  );
}

async function output(stage: Stage, payload: unknown, more: Partial<Task> = {}): Promise<string> {
  const { status, result, error } = await ended(stage, await handIn(stage, payload, more));
  assert.equal(status, 'succeeded', JSON.stringify(error));
  return (result as { stdout: string }).stdout;
}

async function failure(stage: Stage, payload: unknown, more: Partial<Task> = {}): Promise<Task['error']> {
  const { status, error } = await ended(stage, await handIn(stage, payload, more));
  assert.equal(status, 'failed');
  return error;
}

const containersOf = async ({ daemon }: Stage) => (await daemon.docker('ps', '-aq')).split('\n').filter(Boolean);

async function running(stage: Stage, id: string): Promise<string> {
  return until(`task ${id} runs`, async () =>
    (await stage.daemon.docker('ps', '-q', '--filter', `label=gantry.task=${id}`)).trim(),
  );
}

async function play(stage: Stage): Promise<void> {
  const { daemon } = stage;
  await importImage(daemon, image, programs, ['VOLUME /data']);
  await importImage(daemon, 'gantry.test/bare:1', ['cat']);
  await importImage(daemon, 'gantry.test/large:1', ['node']);

  await scene('without a worker for it, a task with an image waits and says why', async () => {
    const id = await handIn(stage, { command: 'true' });
    const plain = startVictim({
      command: [...gantryCommand, 'worker', '--url', stage.product.origin, '--key-file', stage.keyFile, '--drain'],
      env: { HOME: stage.folder, GANTRY_HOME: join(stage.folder, 'home') },
    });
    assert.equal((await plain.ended).code, 0);
    const { status, waiting_for: why } = await taskOf(stage, id);
    assert.equal(status, 'queued');
    assert.match(why ?? '', /runs the image/);
    work(stage);
    assert.equal((await ended(stage, id)).status, 'succeeded');
    return `"${why}" Then a worker with --docker ran it`;
  });

  await scene('a command sees its image, its folder and nothing else', async () => {
    const line = [
      'cat',
      'echo $HOME $TOKEN $GANTRY_TASK_FENCE; touch here /tmp/there /data/too && ls',
      'touch /etc/x /bin/x 2>/dev/null || echo refused',
      'grep -h -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status | tr -d "\\t"',
      'ls /sys/class/net; ls /proc/1/root/work >/dev/null && echo one',
    ].join('; ');
    const said = await output(stage, { command: line, stdin: 'in\n' }, { env: { TOKEN: 'hush' } });
    const none = '0'.repeat(16);
    assert.equal(said, `in\n/work hush 1\nhere\nrefused\nCapEff:${none}\nCapBnd:${none}\nNoNewPrivs:1\nlo\none\n`);
    assert.deepEqual(await containersOf(stage), []);
    return said.trim().replaceAll('\n', ' | ');
  });

  await scene('secrets are in no label, no log and no container that is left', async () => {
    const id = await handIn(
      stage,
      { command: 'echo $TOKEN; sleep 30', timeout_seconds: 8 },
      { env: { TOKEN: 'hush-4711' } },
    );
    const container = await running(stage, id);
    const { Config, HostConfig } = JSON.parse(await daemon.docker('inspect', container))[0];
    assert.ok(!JSON.stringify(Config.Labels).includes('hush-4711'));
    assert.equal(HostConfig.LogConfig.Type, 'none');
    const { error } = await ended(stage, id);
    assert.deepEqual(error, { code: 'timeout', message: 'It took longer than 8 s.\nIts last output: hush-4711' });
    assert.deepEqual(await containersOf(stage), []);
    assert.ok(!daemon.log().includes('hush-4711'));
    return 'only the command had it, and its container is gone';
  });

  await scene('limits hold, and say so', async () => {
    const memory = await failure(stage, { command: 'x=$(head -c 200000000 /dev/zero | tr "\\0" a); echo $?' });
    assert.equal(memory?.code, 'out_of_memory');
    const forks = await failure(stage, { command: 'for i in $(seq 1 60); do sleep 5 & done; wait' });
    assert.match(forks?.message ?? '', /fork/);
    return `${memory?.message} ${forks?.message}`;
  });

  await scene('bad images fail in a sentence', async () => {
    const found = [
      await failure(stage, { command: 'true' }, { sandbox_image: 'gantry.test/bare:1' }),
      await failure(stage, { command: ['nosh'] }, { sandbox_image: 'gantry.test/bare:1' }),
      await failure(stage, { command: 'true' }, { sandbox_image: 'gantry.test/large:1' }),
      await failure(stage, { command: 'true' }, { sandbox_image: 'gantry.test/nothing:1' }),
      await failure(stage, { command: 'true' }, { sandbox_image: 'gantry.test/../../containers/x' }),
    ];
    const codes = found.map((error) => error?.code);
    assert.deepEqual(codes, ['no_shell', 'cannot_start', 'image_too_large', 'image_pull_failed', 'no_such_image']);
    return found.map((error) => error?.message).join(' ');
  });

  await scene('a stop ends the container', async () => {
    const id = await handIn(stage, { command: 'sleep 600' });
    await running(stage, id);
    await stage.product.web.call('POST', `/beta/work/${id}/stop`, { graceful: true });
    const { status } = await ended(stage, id);
    assert.equal(status, 'cancelled');
    await until('no container', async () => (await containersOf(stage)).length === 0);
    return 'the task is cancelled, and no container is left';
  });

  await scene('a container that a person removes', async () => {
    const id = await handIn(stage, { command: 'sleep 600' });
    await daemon.docker('rm', '-f', await running(stage, id));
    const { error } = await ended(stage, id);
    assert.equal(error?.code, 'container_removed');
    return error.message;
  });

  await scene('kill -9 of the worker: the next one removes what it left, and the task runs once more', async () => {
    const id = await handIn(stage, { command: 'echo $GANTRY_TASK_ATTEMPT; [ $GANTRY_TASK_ATTEMPT = 2 ] || sleep 600' });
    const left = await running(stage, id);
    await stage.workers.at(-1)?.kill('SIGKILL');
    work(stage);
    await until('the container is gone', async () => !(await daemon.docker('ps', '-aq', '--no-trunc')).includes(left));
    const { result, attempts } = await ended(stage, id, leaseMs);
    assert.equal((result as { stdout: string }).stdout, '2\n');
    assert.deepEqual(await containersOf(stage), []);
    return `its container was removed at once; attempt ${attempts} ended it`;
  });

  await scene(
    'an engine that hangs: the task fails in a sentence, and the worker says that it runs no images',
    async () => {
      const id = await handIn(stage, { command: 'sleep 600' });
      await running(stage, id);
      process.kill(daemon.pid, 'SIGSTOP');
      try {
        const { error } = await ended(stage, id, 3 * 60 * seconds);
        assert.equal(error?.code, 'engine_failed');
        const waiting = await handIn(stage, { command: 'true' });
        await until('it waits', async () => (await taskOf(stage, waiting)).waiting_for, 60 * seconds);
        process.kill(daemon.pid, 'SIGCONT');
        assert.equal((await ended(stage, waiting)).status, 'succeeded');
        await until('no container', async () => (await containersOf(stage)).length === 0);
        return error.message;
      } finally {
        process.kill(daemon.pid, 'SIGCONT');
      }
    },
  );

  await scene('the worker ends, and nothing is left', async () => {
    const worker = stage.workers.at(-1);
    worker?.child.kill('SIGTERM');
    assert.equal((await worker?.ended)?.code, 0);
    assert.deepEqual(await containersOf(stage), []);
    return worker?.lines.at(-1) ?? '';
  });
}

async function main(): Promise<void> {
  const undo: (() => unknown)[] = [];
  const early = () => void undoAll().finally(() => process.exit(1));
  const undoAll = async () => {
    for (const step of undo.splice(0)) await step();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, early);
  try {
    const folder = mkdtempSync(join(tmpdir(), 'gantry-tasks-'));
    undo.unshift(() => rmSync(folder, { recursive: true, force: true }));
    mkdirSync(join(folder, 'home'));
    const daemon = await startDaemon();
    undo.unshift(() => daemon.close());
    const place = scratchHome();
    undo.unshift(() => place.remove());
    const product = await startProduct(place);
    undo.unshift(() => product.stop());
    const wish = { name: 'work', scopes: ['work'] };
    const { secret } = await product.web.call<{ secret: string }>('POST', '/api/v1/keys', wish);
    const keyFile = join(folder, 'key');
    writeFileSync(keyFile, secret, { mode: 0o600 });
    const workers: Victim[] = [];
    undo.unshift(() => Promise.all(workers.map((worker) => worker.kill('SIGKILL'))));
    await play({ daemon, product, folder, keyFile, workers });
  } catch (error) {
    if (failed() === 0) fail('between scenes', error as Error);
  } finally {
    await undoAll();
  }
}

await main();
process.exit(failed() === 0 ? 0 : 1);
