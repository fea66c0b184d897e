/** Tasks as Jobs where a cluster refuses, holds up or takes away: what `gantry worker --kubernetes` runs them with, from the source. */
import assert from 'node:assert/strict';
import { openJobs } from '../../../src/programs/worker/jobs.ts';
import { TaskFailure } from '../../../src/programs/worker/outcome.ts';
import { pauseImage } from '../../support/cluster/node.ts';
import type { Scenes } from '../scenes.ts';
import { until } from '../scenes.ts';
import type { RefusalPlace } from './refusals.ts';
import { minutes } from './stage.ts';

const image = 'docker.io/library/gantry-worker:latest';
/** In place of ten minutes. */
const pendingMs = 30_000;

export async function playRefusedJobs(place: RefusalPlace, scene: Scenes['scene']): Promise<void> {
  const { namespace, kubectl, apply, quota } = place;
  const { kubeconfig, binding } = await place.account('deploy/kubernetes/components/worker-jobs/role.yaml');
  const notes: string[] = [];
  const open = (pull: 'missing' | 'never' = 'missing') =>
    openJobs({
      ...{ kubeconfig, namespace, pull, pendingMs, images: ['*'], usual: null, network: false, memory: 64, cpus: 0.1 },
      ...{ worker: `refused-${pull}`, pod: null, note: (words: string) => notes.push(words) },
    });
  const jobs = await open();
  let tasks = 0;
  const run = (command: string, of = image, by = jobs) => {
    tasks += 1;
    return by.run({
      ...{ image: of, taskId: `task_${tasks}`, fence: 1, command: ['/bin/sh', '-c', command], shell: true, env: {} },
      ...{ input: undefined, deadlineMs: 5 * minutes, outputCap: 10_000, signal: new AbortController().signal },
    });
  };
  const refused = (work: Promise<unknown>, code: string, words: RegExp): Promise<string> => {
    const said = saidBy(work, code, words);
    // Where the scene fails before it is awaited, that is what is told.
    said.catch(() => {});
    return said;
  };
  const saidBy = async (work: Promise<unknown>, code: string, words: RegExp): Promise<string> => {
    const fault = await work.then(
      () => assert.fail(`nothing was refused that should have said ${words}`),
      (error: unknown) => error,
    );
    assert.ok(fault instanceof TaskFailure, String(fault));
    assert.equal(fault.error.code, code, fault.error.message);
    assert.match(fault.error.message, words);
    return `${code} "${fault.error.message}"`;
  };
  const names = async () =>
    (await kubectl('get jobs.batch,pods -l app.kubernetes.io/managed-by=gantry-worker -o name'))
      .split('\n')
      .filter(Boolean);
  const nothingIsLeft = () => until('nothing is left', async () => (await names()).length === 0, 2 * minutes);
  const begun = () =>
    until(
      'its Pod runs',
      async () => /Running/.test(await kubectl('get pods -l job-name -o jsonpath={.items[*].status.phase}')),
      2 * minutes,
    );

  try {
    await scene('a task that a quota or a LimitRange leaves no Pod', async () => {
      const said: string[] = [];
      const full = await quota({ pods: '0' });
      said.push(await refused(run('true'), 'no_room', /exceeded quota: quota-\d+, requested: pods=1/));
      const waiting = run('echo ran');
      await until('its Job is there', async () => (await names()).length === 1);
      await full();
      const { stdout } = await waiting;
      assert.equal(stdout, 'ran\n');
      const limit = { type: 'Container', max: { memory: '32Mi' } };
      await apply({ apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'limits' }, spec: { limits: [limit] } });
      said.push(await refused(run('true'), 'no_room', /maximum memory usage per Container is 32Mi/));
      await kubectl('delete limitrange limits');
      await nothingIsLeft();
      return `${said.join('; ')}; with room the one that waited ran`;
    });

    await scene('a task whose image is not there, never pulled, or pulled without end', async () => {
      const never = await open('never');
      const said = await Promise.all([
        refused(run('true', '127.0.0.1:5998/nothing/here:1'), 'image_pull_failed', /cannot get 127\.0\.0\.1:5998/),
        refused(run('true', 'gantry-nowhere:1', never), 'no_such_image', /gantry-nowhere:1.*not present/),
        refused(run('true', 'Not:A:Name'), 'no_such_image', /Not:A:Name/),
        refused(run('true', pauseImage), 'no_shell', /has no \/bin\/sh/),
      ]);
      never.close();
      await nothingIsLeft();
      const end = await place.silentRegistry();
      try {
        said.push(await refused(run('true', '127.0.0.1:5999/never/ends:2'), 'image_pull_failed', /still pulls 127/));
      } finally {
        end();
      }
      await nothingIsLeft();
      return said.join('; ');
    });

    await scene('a Job that is deleted by hand', async () => {
      const running = run('sleep 300');
      await begun();
      const failed = refused(running, 'container_removed', /removed/);
      await kubectl('delete jobs.batch -l app.kubernetes.io/managed-by=gantry-worker');
      const said = [await failed];
      const full = await quota({ pods: '0' });
      const waits = refused(
        run('true'),
        'container_removed',
        /^Its Job gantry-task-\d+-1 was removed before it ran\.$/,
      );
      await until('its Job is there', async () => (await names()).length === 1);
      await kubectl('delete jobs.batch -l app.kubernetes.io/managed-by=gantry-worker');
      said.push(await waits);
      await full();
      await nothingIsLeft();
      return said.join('; ');
    });

    await scene('rights of a worker that are taken away while a task runs', async () => {
      const running = run('sleep 300');
      await begun();
      const failed = refused(
        running,
        'cluster_failed',
        /refuses this Gantry a right that it needs: .* cannot \w+ resource/,
      );
      await kubectl('delete rolebinding worker-jobs');
      const said = await failed;
      await until('it takes no task', async () => jobs.images.length === 0, minutes);
      await kubectl(binding);
      await until('it takes tasks', async () => jobs.images.length > 0, minutes);
      // What it could not remove then.
      await nothingIsLeft();
      const { stdout } = await run('echo ran');
      assert.equal(stdout, 'ran\n');
      await nothingIsLeft();
      return `${said}; notes: ${notes.join(' ')}`;
    });
  } finally {
    jobs.close();
  }
}
