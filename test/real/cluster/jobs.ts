/** Tasks of the queue as Jobs of the cluster: one that ends, one that is cancelled, one whose worker is killed. install.ts has brought the cloud up. */
import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Scenes } from '../scenes.ts';
import { until } from '../scenes.ts';
import { addTask, endOf, taskOf } from './install.ts';
import { minutes, type Stage } from './stage.ts';

const namespace = 'gantry-workers';
const taskImage = 'gantry-worker:play';

export async function playJobs(stage: Stage, scene: Scenes['scene']): Promise<void> {
  const { kubectl, act, made } = stage;
  const mine = join(stage.clone, 'deploy/kubernetes/overlays/mine');
  const names = async (kind: string) =>
    (await kubectl(`--namespace=${namespace} get ${kind} -o name`)).split('\n').filter(Boolean);
  const jobs = () => names('jobs.batch');
  const noneIsLeft = () => until('no Job is left', async () => (await jobs()).length === 0, 3 * minutes);
  const runs = async (id: string) => {
    await until(
      'its Job runs',
      async () => {
        const phases = await kubectl(
          `--namespace=${namespace} get pods -l job-name -o jsonpath={.items[*].status.phase}`,
        );
        return phases.includes('Running') && (await taskOf(stage, id)).status === 'running';
      },
      3 * minutes,
    );
  };

  await scene('tasks run as Jobs', async () => {
    await act({ does: 'tag', from: 'docker.io/library/gantry-worker:latest', to: `docker.io/library/${taskImage}` });
    const file = join(mine, 'kustomization.yaml');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/^components:$/m, 'components:\n  - ../../components/worker-jobs'));
    appendFileSync(join(mine, 'worker.env'), `GANTRY_WORKER_TASK_IMAGE=${taskImage}\n`);
    await stage.block('upgrade');
    const before = [...(await names('pods')), ...(await names('secrets')), ...(await names('configmaps'))];
    const ids = await Promise.all(Array.from({ length: 6 }, () => addTask(stage, 'id -u; hostname; sleep 3')));
    for (const id of ids) {
      const said = (await endOf(stage, id, 6 * minutes)).result?.stdout;
      // A worker has the name of its own Pod.
      assert.equal(said, '10001\ntask\n');
    }
    await noneIsLeft();
    const after = [...(await names('pods')), ...(await names('secrets')), ...(await names('configmaps'))];
    // Old Pods of the upgrade may go meanwhile.
    assert.deepEqual(
      after.filter((name) => !before.includes(name)),
      [],
    );
    return `${ids.length} tasks, each in the Pod of a Job, as user 10001; no Job, Pod, Secret or ConfigMap of them is left`;
  });

  await scene('a task that is cancelled takes its Job with it', async () => {
    const id = await addTask(stage, 'sleep 600');
    await runs(id);
    const [job] = await jobs();
    await made.person!('POST', `/beta/work/${id}/stop`, {});
    await until('it is cancelled', async () => (await taskOf(stage, id)).status === 'cancelled', minutes);
    await noneIsLeft();
    return `${job} is gone`;
  });

  await scene('kill -9 of the worker of a Job', async () => {
    const id = await addTask(stage, 'sleep 20; echo done');
    await runs(id);
    const workers = (await stage.pods(namespace, 'app.kubernetes.io/component=worker')).map(
      ({ metadata }) => metadata.uid,
    );
    for (const uid of workers) await act({ does: 'kill Pod', uid });
    const { attempts, result } = await endOf(stage, id, 6 * minutes);
    assert.equal(result?.stdout, 'done\n');
    await noneIsLeft();
    return `all ${workers.length} workers were killed; the task ended in attempt ${attempts}, and no Job is left`;
  });
}
