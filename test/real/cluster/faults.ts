/**
 * What is taken away from the installed cloud while it works: a kubelet, a replica, the API server, Pods by hand, a version by the next, and a second
 * installation beside the first. install.ts has brought the cloud up.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Scenes } from '../scenes.ts';
import { seconds, until } from '../scenes.ts';
import {
  create,
  drive,
  exec,
  listOf,
  namespace,
  newKeys,
  type One,
  offerComputers,
  podOf,
  remove,
  stateOf,
  wake,
} from './computers.ts';
import { addTask, cloudPods, endOf, taskOf } from './install.ts';
import { playSecond } from './second.ts';
import { isReady, minutes, type Pod, type Stage } from './stage.ts';

interface Load {
  /** What came since it began, and what did not. */
  stop(): Promise<{
    readonly answered: number;
    readonly repeated: number;
    readonly lost: readonly string[];
    readonly slowest: number;
  }>;
}

/** A person's reads at a steady rate. One that fails is asked once more, as clients do with what only reads. */
function load({ made }: Stage, perSecond: number): Load {
  const lost: string[] = [];
  const open = new Set<Promise<void>>();
  let [answered, repeated, slowest, going] = [0, 0, 0, true];
  const read = () => made.person!('GET', '/beta/work?limit=1');
  const one = async () => {
    const from = performance.now();
    try {
      await read().catch(() => {
        repeated += 1;
        return delay(100).then(read);
      });
      answered += 1;
    } catch (error) {
      lost.push((error as Error).message);
    }
    slowest = Math.max(slowest, performance.now() - from);
  };
  const turns = (async () => {
    while (going) {
      const now = one().finally(() => open.delete(now));
      open.add(now);
      await delay(1000 / perSecond);
    }
  })();
  return {
    async stop() {
      going = false;
      await turns;
      await Promise.all(open);
      return { answered, repeated, lost, slowest };
    },
  };
}

async function under(stage: Stage, perSecond: number, work: () => Promise<void>): Promise<string> {
  const running = load(stage, perSecond);
  await work().catch(async (error) => {
    await running.stop();
    throw error;
  });
  const { answered, repeated, lost, slowest } = await running.stop();
  assert.deepEqual(lost, []);
  return `${answered} reads answered meanwhile, ${repeated} of them in the second try, the slowest after ${(slowest / 1000).toFixed(1)} s`;
}

const threeReady = (stage: Stage, but: readonly string[] = []) =>
  until(
    'three replicas are ready',
    async () => {
      const ready = (await stage.pods('gantry', cloudPods)).filter(isReady);
      return ready.length >= 3 && ready.every(({ metadata }) => !but.includes(metadata.uid)) && ready;
    },
    6 * minutes,
  );

async function slowTask(stage: Stage, words: string): Promise<string> {
  const id = await addTask(stage, words);
  await until('the task runs', async () => ['running', 'leased'].includes((await taskOf(stage, id)).status));
  return id;
}

export async function playFaults(stage: Stage, scene: Scenes['scene']): Promise<void> {
  const { kubectl, act } = stage;
  let computers: readonly One[] = [];
  let before: string[] = [];

  /** Each is driven in the end; one that ended with what was killed is started again first, as its program would. */
  const driveAll = async () => {
    if (computers.length === 0) return 'no computers';
    let again = 0;
    for (const one of computers)
      await until(
        `${one.id} is called`,
        async () => {
          const { status } = await stateOf(stage, one);
          if (status === 'error' || status === 'stopped') {
            again += 1;
            await wake(stage, one);
          }
          await drive(stage, one);
          return true;
        },
        4 * minutes,
      );
    return `all ${computers.length} computers were called with their files, ${again} of them after a start`;
  };

  if (stage.computers)
    await scene('some computers for what follows', async () => {
      await offerComputers(stage);
      before = await listOf(stage);
      const [key] = await newKeys(stage, 1, 'faults');
      const made: One[] = [];
      for (let number = 0; number < 6; number += 1)
        made.push(await create(stage, { toolset: 'shell', number, key: key! }));
      computers = made;
      for (const one of computers) await exec(stage, one, `echo ${one.number} > number`);
      const on = await Promise.all(computers.map(async (one) => (await podOf(stage, one))?.spec.nodeName));
      return stage.nodes.map((node) => `${on.filter((name) => name === node).length} on ${node}`).join(', ');
    });

  await scene('kill -9 of a replica', async () => {
    const [first] = await stage.pods('gantry', cloudPods);
    const id = await slowTask(stage, 'sleep 8; echo done');
    const restarts = (pod: Pod | undefined) => pod?.status.containerStatuses?.[0]?.restartCount ?? 0;
    const said = await under(stage, 5, async () => {
      await act({ does: 'kill Pod', uid: first!.metadata.uid });
      await until(
        'it is back',
        async () => {
          const now = (await stage.pods('gantry', cloudPods)).find(
            ({ metadata }) => metadata.uid === first!.metadata.uid,
          );
          return now !== undefined && restarts(now) > restarts(first) && isReady(now);
        },
        4 * minutes,
      );
    });
    const { attempts } = await endOf(stage, id);
    return `started again in its Pod; ${said}; the task that ran ended in attempt ${attempts}; ${await driveAll()}`;
  });

  await scene('a Pod deleted by hand', async () => {
    const [first] = await stage.pods('gantry', cloudPods);
    const said = await under(stage, 5, async () => {
      await kubectl(`--namespace=gantry delete pod ${first!.metadata.name} --wait=false`);
      await threeReady(stage, [first!.metadata.uid]);
    });
    const [one] = computers;
    if (one === undefined) return `the Deployment made another replica; ${said}`;
    await kubectl(`--namespace=${namespace} delete pod ${(await podOf(stage, one))!.metadata.name} --wait=false`);
    await until(
      'the computer says that it ended',
      async () => (await stateOf(stage, one)).status !== 'running',
      2 * minutes,
    );
    const { status } = await stateOf(stage, one);
    return `the Deployment made another replica; ${said}; the computer was told as ${status}; ${await driveAll()}`;
  });

  await scene('the API server away for a minute', async () => {
    const id = await slowTask(stage, 'sleep 20; echo done');
    const began = performance.now();
    let driven = 0;
    const said = await under(stage, 5, async () => {
      await act({ does: 'stop', part: 'api' });
      while (performance.now() - began < minutes) {
        for (const one of computers) await drive(stage, one);
        driven += computers.length;
        await delay(1000);
      }
      await act({ does: 'start', part: 'api' });
      await until('it answers', () => kubectl('get --raw /readyz').then(() => true), 3 * minutes);
    });
    const { attempts } = await endOf(stage, id);
    if (computers.length === 0) return `${said}; the task ended in attempt ${attempts}`;
    await until(
      'the cloud makes computers again',
      async () => {
        const one = await create(stage, { toolset: 'shell', number: 99, key: computers[0]!.key });
        await remove(stage, one);
        return true;
      },
      3 * minutes,
    );
    return `${driven} calls of computers went through; ${said}; the task ended in attempt ${attempts}; another computer was made afterwards; ${await driveAll()}`;
  });

  if (stage.nodes.length > 1)
    await scene('kill -9 of a kubelet', async () => {
      const node = stage.nodes[1]!;
      const there = async () => (await stage.pods('gantry', cloudPods)).filter(({ spec }) => spec.nodeName === node);
      const lostPods = (await there()).map(({ metadata }) => metadata.uid);
      const id = await slowTask(stage, 'sleep 20; echo done');
      const began = performance.now();
      let replaced = '';
      const said = await under(stage, 5, async () => {
        await act({ does: 'stop', part: `${node}/kubelet` });
        await threeReady(stage, lostPods);
        replaced = seconds(began);
      });
      const { attempts } = await endOf(stage, id, 6 * minutes);
      const away = await driveAll();
      await act({ does: 'start', part: `${node}/kubelet` });
      await until(
        'the node is back',
        async () => (await kubectl(`get node ${node} -o jsonpath={.status.conditions[-1:].status}`)) === 'True',
        2 * minutes,
      );
      await until(
        'its old Pods are gone',
        async () => (await there()).every(({ metadata }) => !lostPods.includes(metadata.uid)),
        4 * minutes,
      );
      const back = await driveAll();
      if (stage.computers)
        await until(
          'each computer has one Pod',
          async () => (await stage.pods(namespace, 'gantry.dev/computer')).length === computers.length,
          2 * minutes,
        );
      return `its ${lostPods.length} replicas were replaced after ${replaced}; ${said}; the task ended in attempt ${attempts}; without the node ${away}; with its old Pods back ${back}`;
    });

  await scene('a rolling upgrade under requests', async () => {
    for (const name of ['cloud', 'worker'])
      await act({
        does: 'tag',
        from: `docker.io/library/gantry-${name}:latest`,
        to: `docker.io/library/gantry-${name}:next`,
      });
    const file = join(stage.clone, 'deploy/kubernetes/overlays/mine/kustomization.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll('newTag: latest', 'newTag: next'));
    const old = (await stage.pods('gantry', cloudPods)).map(({ metadata }) => metadata.uid);
    const began = performance.now();
    const said = await under(stage, 20, async () => {
      await stage.block('upgrade');
      await threeReady(stage, old);
    });
    return `three replicas were replaced within ${seconds(began)}; ${said}; ${await driveAll()}`;
  });

  if (stage.computers) await playSecond(stage, scene, computers);

  if (stage.computers)
    await scene('computers are deleted, and nothing of them is left', async () => {
      for (const one of computers) await remove(stage, one);
      await until(
        'the lists are the same',
        async () => {
          assert.deepEqual(
            (await listOf(stage)).filter((line) => !before.includes(line)),
            [],
          );
          return true;
        },
        2 * minutes,
      );
      return `${before.length} objects as before`;
    });
}
