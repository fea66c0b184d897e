/**
 * Hosted computers of the installed cloud, as Pods: 40 of the toolset shell and 6 with a browser, claimed, driven, put to sleep, woken and deleted.
 * install.ts has brought the cloud up.
 */
import assert from 'node:assert/strict';
import type { Scenes } from '../scenes.ts';
import { seconds, until } from '../scenes.ts';
import { lookAtNodes } from './pages.ts';
import { minutes, type Pod, type Stage } from './stage.ts';

interface Answer {
  readonly id: string;
  readonly status: string;
  readonly sleeping: boolean;
  readonly is_error?: boolean;
  readonly content?: readonly { readonly type: string; readonly text?: string }[];
}

export interface One {
  readonly id: string;
  readonly toolset: 'shell' | 'desktop';
  readonly number: number;
  readonly key: string;
}

export const namespace = 'gantry-computers';
/** `GANTRY_CLUSTER_COMPUTERS=8,2` plays fewer, for a machine that is slow or has something else to do. */
const [shells = 40, browsers = 6] = (process.env.GANTRY_CLUSTER_COMPUTERS ?? '40,6').split(',').map(Number);
/** Of a key. */
const ofKey = 10;
/** As many starts at once as two processors bear. */
const atOnce = 4;

async function inTurns<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  const waiting = items.entries();
  const turn = async () => {
    for (const [index, item] of waiting) results[index] = await work(item);
  };
  await Promise.all(Array.from({ length: atOnce }, turn));
  return results;
}

const at = ({ id }: One, rest = '') => `/v1/computers/${id}${rest}`;

/** Lets the owner's project have as many computers as the scenes take. */
export async function offerComputers({ admin, made }: Stage): Promise<void> {
  await until(
    'the driver can make computers',
    async () => /kubernetes.*can make computers/s.test(await admin('pool')),
    3 * minutes,
  );
  await made.person!('PATCH', '/v1/computer_settings', { per_key_concurrency: ofKey });
  await admin(`pool set --running ${shells + browsers + 4} --idle-minutes 30`);
}

export async function newKeys({ admin, made }: Stage, count: number, name: string): Promise<string[]> {
  const keys: string[] = [];
  for (let number = 0; number < count; number += 1) {
    const said = await admin(`keys create --user ${made.userId} --name ${name}-${number} --scope computers`);
    keys.push(said.split('\n')[0]!.trim());
  }
  return keys;
}

export async function exec({ ask }: Stage, one: One, command: string): Promise<string> {
  const call = { toolset: 'shell', member: 'exec', input: { command, shell: true } };
  const { content } = await ask<Answer>(one.key, 'POST', at(one, '/toolset'), call);
  return content?.[0]?.text ?? '';
}

export async function create({ ask }: Stage, wish: Omit<One, 'id'>): Promise<One> {
  const { id } = await ask<Answer>(wish.key, 'POST', '/v1/computers', { toolset: wish.toolset });
  return { ...wish, id };
}

export const stateOf = ({ ask }: Stage, one: One) => ask<Answer>(one.key, 'GET', at(one));
export const wake = ({ ask }: Stage, one: One) => ask<Answer>(one.key, 'POST', at(one, '/start'), {});
export const remove = ({ ask }: Stage, one: One) => ask(one.key, 'DELETE', at(one));

export const podOf = async ({ pods }: Stage, one: One): Promise<Pod | undefined> =>
  (await pods(namespace)).find(({ metadata }) => JSON.stringify(metadata).includes(one.id));

/** A shell by the file that it wrote first, a desktop by its picture. */
export async function drive(stage: Stage, one: One): Promise<void> {
  if (one.toolset === 'shell') {
    assert.equal(await exec(stage, one, 'cat number'), `${one.number}\n`, one.id);
    return;
  }
  const call = { toolset: 'computer', member: 'screenshot', input: {} };
  const { is_error, content } = await stage.ask<Answer>(one.key, 'POST', at(one, '/toolset'), call);
  assert.deepEqual([is_error, content?.some(({ type }) => type === 'image')], [false, true], one.id);
}

/** What of computers is in the cluster, in words: the same before and after. */
export async function listOf({ kubectl }: Stage): Promise<string[]> {
  const list = JSON.parse(await kubectl(`--namespace=${namespace} get pods,pvc,secrets,configmaps,jobs -o json`)) as {
    items: { kind: string; type?: string; metadata: { name: string } }[];
  };
  return list.items
    .filter(
      ({ type, metadata }) => type !== 'kubernetes.io/service-account-token' && metadata.name !== 'kube-root-ca.crt',
    )
    .map(({ kind, metadata }) => `${kind} ${metadata.name}`)
    .toSorted();
}

export async function playComputers(stage: Stage, scene: Scenes['scene']): Promise<void> {
  const all: One[] = [];
  let before: string[] = [];
  const running = async () => (await stage.pods(namespace)).filter(({ status }) => status.phase === 'Running');
  const driveAll = () =>
    inTurns(all, (one) => until(`${one.id} is called`, () => drive(stage, one).then(() => true), 2 * minutes));

  await scene('the cloud offers computers of the cluster', async () => {
    await offerComputers(stage);
    before = await listOf(stage);
    return (await stage.admin('pool')).trim().split('\n').slice(0, 3).join(' · ');
  });

  await scene(`${shells} shells and ${browsers} browsers are claimed, and each is driven`, async () => {
    const keys = await newKeys(stage, Math.ceil((shells + browsers) / ofKey), 'many');
    const wishes = Array.from({ length: shells + browsers }, (_, number) => ({
      toolset: number < shells ? ('shell' as const) : ('desktop' as const),
      number,
      key: keys[number % keys.length]!,
    }));
    const took: number[] = [];
    const began = performance.now();
    await inTurns(wishes, async (wish) => {
      const from = performance.now();
      all.push(await create(stage, wish));
      took.push(performance.now() - from);
    });
    const made = seconds(began);
    for (const one of all) if (one.toolset === 'shell') await exec(stage, one, `echo ${one.number} > number`);
    await driveAll();
    const sorted = took.toSorted((a, b) => a - b).map((ms) => (ms / 1000).toFixed(1));
    const on = (await running()).map(({ spec }) => spec.nodeName);
    const spread = stage.nodes.map((node) => `${on.filter((name) => name === node).length} on ${node}`).join(', ');
    return `made within ${made}, each in ${sorted[0]} to ${sorted.at(-1)} s (median ${sorted[sorted.length >> 1]}); Pods: ${spread}`;
  });

  await scene('the page of where computers are made lists the nodes', () => lookAtNodes(stage));

  await scene('a computer reaches neither the cloud, the cluster, the database nor another computer', async () => {
    const [one, other] = all.filter(({ toolset }) => toolset === 'shell');
    const service = (
      await stage.kubectl('--namespace=gantry get service gantry-cloud -o jsonpath={.spec.clusterIP}')
    ).trim();
    const neighbour = (await podOf(stage, other!))?.status.podIP;
    const places = {
      cloud: `${service}/80`,
      API: '10.79.0.1/443',
      kubelet: '10.77.0.2/10250',
      database: `${stage.address}/5432`,
      neighbour: `${neighbour}/22`,
    };
    for (const [name, place] of Object.entries(places)) {
      const said = await exec(
        stage,
        one!,
        `timeout 3 bash -c 'exec 3<>/dev/tcp/${place}' 2>/dev/null && echo reached || echo not`,
      );
      assert.equal(said, 'not\n', `${name} ${place}`);
    }
    const who = await exec(stage, one!, 'id -un; ls /var/run/secrets/kubernetes.io 2>&1 | tail -n 1');
    assert.match(who, /^user\n.*No such file/);
    return `${Object.keys(places).join(', ')}: each refused; no token of the cluster inside`;
  });

  await scene('all sleep on disk', async () => {
    await stage.admin(`pool set --running ${shells + browsers + 4} --idle-minutes 1`);
    await until('no Pod is left', async () => (await stage.pods(namespace)).length === 0, 10 * minutes);
    const states = await inTurns(all, (one) => stateOf(stage, one));
    assert.ok(states.every(({ sleeping }) => sleeping));
    await stage.admin(`pool set --running ${shells + browsers + 4} --idle-minutes 30`);
    const claims = (await listOf(stage)).filter((line) => line.startsWith('PersistentVolumeClaim')).length;
    return `no Pod, ${claims} claims`;
  });

  await scene('all wake with their files', async () => {
    const began = performance.now();
    await driveAll();
    return `within ${seconds(began)}`;
  });

  await scene('all are deleted, and nothing of them is left', async () => {
    await inTurns(all, (one) => remove(stage, one));
    await until(
      'the lists are the same',
      async () => {
        const after = await listOf(stage);
        assert.deepEqual(
          after.filter((line) => !before.includes(line)),
          [],
        );
        return true;
      },
      2 * minutes,
    );
    const volumes = await stage.kubectl('get pv -o name');
    return `${before.length} objects as before, ${volumes.trim().split('\n').filter(Boolean).length} volumes`;
  });
}
