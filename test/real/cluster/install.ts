/** The scenes of an operator on a cluster: docs/deploy.md block by block, from the install to the removal. */
import assert from 'node:assert/strict';
import { appendFileSync, cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../../docs/blocks.ts';
import { personAt } from '../../support/signed-in.ts';
import type { Scenes } from '../scenes.ts';
import { seconds, until } from '../scenes.ts';
import { computerImage, isReady, minutes, type Stage } from './stage.ts';

type Scene = Scenes['scene'];

export const cloudPods = 'app.kubernetes.io/component=cloud';
const namespaces = ['gantry', 'gantry-workers', 'gantry-computers'];

export interface Task {
  readonly status: string;
  readonly attempts: number;
  readonly result: { readonly stdout: string } | null;
}

export async function addTask({ made }: Stage, command: string): Promise<string> {
  return (await made.person!<{ id: string }>('POST', '/beta/work', { payload: { command } })).id;
}

export const taskOf = async ({ made }: Stage, id: string) =>
  (await made.person!<{ task: Task }>('GET', `/beta/work/${id}`)).task;

export async function endOf(stage: Stage, id: string, ms = 3 * minutes): Promise<Task> {
  const task = await until(
    `task ${id} ends`,
    async () => {
      const now = await taskOf(stage, id);
      return ['succeeded', 'failed', 'cancelled'].includes(now.status) && now;
    },
    ms,
  );
  assert.equal(task.status, 'succeeded', JSON.stringify(task));
  return task;
}

export async function playInstall(stage: Stage, scene: Scene): Promise<void> {
  const { shell, kubectl, block, pods, made, origin } = stage;
  const mine = join(stage.clone, 'deploy/kubernetes/overlays/mine');

  await scene('a cluster of its own', async () => {
    const version = JSON.parse(await kubectl('version -o json')) as { serverVersion: { gitVersion: string } };
    const nodes = JSON.parse(await kubectl('get nodes -o json')) as {
      items: { status: { nodeInfo: { containerRuntimeVersion: string } } }[];
    };
    assert.equal(nodes.items.length, stage.nodes.length);
    const engine = nodes.items[0]?.status.nodeInfo.containerRuntimeVersion;
    const lacking = stage.lacking === null ? '' : `; one node, because the second did not come up: ${stage.lacking}`;
    return `Kubernetes ${version.serverVersion.gitVersion}, ${nodes.items.length} nodes with ${engine}${lacking}`;
  });

  await scene('a clone and its settings', async () => {
    await shell(`git clone -q ${root} ${stage.clone}`);
    await block('settings');
    const put = (file: string, name: string, value: string) =>
      shell(`sed -i '/^${name}=/d' ${file} && echo '${name}=${value}' >> ${file}`);
    const cloud = join(mine, 'cloud.env');
    await put(cloud, 'GANTRY_BASE_URL', origin);
    await put(cloud, 'GANTRY_OIDC_ISSUER', stage.provider.issuer);
    await put(cloud, 'GANTRY_OIDC_CLIENT_ID', stage.provider.clientId);
    // The proxy of the play, with the address of the node by which it reaches the Service.
    await put(cloud, 'GANTRY_TRUSTED_PROXY', '10.76.0.0/14');
    await put(join(mine, 'worker.env'), 'GANTRY_URL', origin);
    if (stage.parts.some((name) => ['computers', 'driver', 'figures', 'refusals'].includes(name))) {
      // Without a tag of its own, a node would look for it in a registry.
      await stage.act({
        does: 'tag',
        from: 'docker.io/library/gantry-computer:latest',
        to: `docker.io/library/${computerImage}`,
      });
      await put(cloud, 'GANTRY_COMPUTERS_IMAGE', computerImage);
      // As much as 46 computers leave each other on this machine.
      await put(cloud, 'GANTRY_COMPUTERS_MEMORY', '1024');
      await put(cloud, 'GANTRY_COMPUTERS_DISK', '256');
    }
    cpSync(stage.certificate, join(mine, 'tls.pem'));
    const file = join(mine, 'kustomization.yaml');
    const components = [...(stage.computers ? ['computers'] : []), 'kubernetes-1.20'];
    const listed = components.map((name) => `  - ../../components/${name}`).join('\n');
    const trusting = ['gantry', 'gantry-workers'].map(
      (namespace) => `  - name: play\n    namespace: ${namespace}\n    files: [tls.pem]`,
    );
    const text = readFileSync(file, 'utf8')
      .replace(/^# components:\n(?:#.*\n)*/m, `components:\n${listed}\n`)
      .replace(/^configMapGenerator:$/m, `configMapGenerator:\n${trusting.join('\n')}`);
    writeFileSync(file, text);
    appendFileSync(file, trustPatch);
    const rendered = await shell(`kubectl kustomize ${mine}`);
    assert.match(rendered, /policy\/v1beta1/);
    return `components ${components.join(', ')}`;
  });

  await scene('secrets, and the bases are applied', async () => {
    await block('secrets');
    const began = performance.now();
    await block('install');
    const all = (await pods('gantry', cloudPods)).filter(isReady);
    assert.equal(all.length, 3);
    const on = stage.nodes.map((node) => `${all.filter(({ spec }) => spec.nodeName === node).length} on ${node}`);
    return `three replicas were ready after ${seconds(began)}: ${on.join(', ')}`;
  });

  await scene('a person signs in through the provider', async () => {
    made.person = await personAt(origin);
    made.userId = (await made.person<{ user: string }>('GET', '/api/v1/session')).user;
    assert.match(await (await fetch(`${origin}/`)).text(), /<div id="root">/);
    return `as ${made.userId}, and the pages are served`;
  });

  await scene('workers get their key and do a task', async () => {
    await block('worker', { '<user>': made.userId! });
    const { result } = await endOf(stage, await addTask(stage, 'id -u; hostname'));
    const [user, host] = (result?.stdout ?? '').split('\n');
    assert.equal(user, '10001');
    const workers = await pods('gantry-workers');
    assert.ok(
      workers.some(({ metadata }) => metadata.name === host),
      `${host}: ${workers.map(({ metadata }) => metadata.name)}`,
    );
    return `as user ${user} in ${host}`;
  });

  await scene('a project and a key', async () => {
    await block('project', { '<user>': made.userId! });
    made.key = readFileSync(join(stage.clone, 'keys/shop-key'), 'utf8').trim();
    return 'the key is in a file that only its owner reads';
  });
}

/** What an operator of the install does later: nothing of it needs hosted computers. */
export async function playOperation(stage: Stage, scene: Scene): Promise<void> {
  const { shell, kubectl, block, pods, origin, made } = stage;

  await scene('replicas and workers run without rights, on a root that nobody can write to', async () => {
    for (const [namespace, name] of [
      ['gantry', 'gantry-cloud'],
      ['gantry-workers', 'gantry-worker'],
    ] as const) {
      const inside = (words: string) => kubectl(`--namespace=${namespace} exec deployment/${name} -- sh -c '${words}'`);
      assert.equal((await inside('id -u')).trim(), '10001', name);
      const status = await inside('cat /proc/self/status');
      assert.match(status, /^CapEff:\t0+$/m, name);
      assert.match(status, /^NoNewPrivs:\t1$/m, name);
      for (const place of ['/app/new', '/etc/new'])
        await assert.rejects(inside(`touch ${place}`), /Read-only file system/, `${name} ${place}`);
    }
    const worker = await kubectl(
      '--namespace=gantry-workers exec deployment/gantry-worker -- sh -c "ls /var/run/secrets/kubernetes.io 2>&1 || true"',
    );
    assert.match(worker, /No such file/);
    return 'user 10001, no capability, no new privileges; a worker has no token of the cluster';
  });

  await scene('a ServiceAccount may do nothing that is not stated', async () => {
    const can = (who: string, words: string) =>
      kubectl(`auth can-i ${words} --as=system:serviceaccount:${who} || true`).then((said) => said.trim());
    const [cloud, worker] = ['gantry:gantry-cloud', 'gantry-workers:gantry-worker'];
    for (const who of [cloud, worker]) {
      for (const words of [
        'get secrets --all-namespaces',
        'create pods --namespace=gantry',
        'list nodes',
        'create pods --subresource=exec --namespace=gantry-computers',
      ])
        assert.equal(await can(who, words), 'no', `${who}: ${words}`);
    }
    return 'neither reads Secrets, lists nodes, makes Pods beside the cloud or opens a shell in one';
  });

  await scene('a replica is made anew by the Deployment', async () => {
    const [first] = await pods('gantry', cloudPods);
    await kubectl(`--namespace=gantry delete pod ${first!.metadata.name} --wait=false`);
    const began = performance.now();
    await until(
      'three replicas are ready',
      async () => {
        const all = await pods('gantry', cloudPods);
        return all.filter(isReady).length === 3 && all.every(({ metadata }) => metadata.uid !== first!.metadata.uid);
      },
      5 * minutes,
    );
    return `after ${seconds(began)}`;
  });

  let saved = 0;
  const succeeded = async () =>
    (await made.person!<{ tasks: readonly unknown[] }>('GET', '/beta/work?status=succeeded')).tasks.length;

  await scene('a backup', async () => {
    saved = await succeeded();
    await block('backup');
    const file = (await shell('stat -c "%n %a %s" gantry-cloud.dump')).trim();
    assert.match(file, / 600 \d{3,}$/);
    return file;
  });

  await scene('a restore', async () => {
    await endOf(stage, await addTask(stage, 'echo made after the backup'));
    assert.ok((await succeeded()) > saved);
    await block('restore');
    const session = await made.person!<{ user: string }>('GET', '/api/v1/session');
    assert.equal(session.user, made.userId);
    assert.equal(await succeeded(), saved);
    const { result } = await endOf(stage, await addTask(stage, 'echo as before'));
    assert.equal(result?.stdout, 'as before\n');
    return `the same person is signed in at ${origin}, the ${saved} tasks of the backup are there and no later one, and workers have their key`;
  });
}

/** The cluster's own autoscaler, which asks the cloud through the aggregation layer. */
export async function playScaling(stage: Stage, scene: Scene): Promise<void> {
  const { kubectl, block, pods } = stage;
  await scene('the autoscaler scales the workers by the queue', async () => {
    const file = join(stage.clone, 'deploy/kubernetes/overlays/mine/kustomization.yaml');
    const text = readFileSync(file, 'utf8');
    writeFileSync(file, text.replace(/^components:$/m, 'components:\n  - ../../components/autoscaling'));
    const said = JSON.parse(
      (await block('autoscaling')).split('\n').findLast((line) => line.startsWith('{')) ?? '{}',
    ) as {
      kind: string;
      items: readonly unknown[];
    };
    assert.equal(said.kind, 'ExternalMetricValueList');
    // The cluster asks every API before it ends a namespace, and one that does not answer keeps all of them.
    await kubectl('create namespace gantry-brief && kubectl delete namespace gantry-brief --timeout=60s');
    const workers = async () => (await pods('gantry-workers')).filter(isReady).length;
    const ids = await Promise.all(Array.from({ length: 6 }, () => addTask(stage, 'sleep 45; hostname')));
    const began = performance.now();
    await until('there are more workers', async () => (await workers()) > 2, 5 * minutes);
    const [most, after] = [await workers(), seconds(began)];
    const hosts = new Set<string>();
    for (const id of ids) hosts.add((await endOf(stage, id, 6 * minutes)).result?.stdout ?? '');
    const scaler = await kubectl(
      '--namespace=gantry-workers get hpa gantry-worker -o jsonpath={.status.currentReplicas}/{.spec.maxReplicas}',
    );
    return `${said.items.length} values of gantry_work_tasks; ${most} workers were ready ${after} after ${ids.length} tasks came, which ${hosts.size} of them did; ${scaler} in the end`;
  });
}

export async function playRemoval(stage: Stage, scene: Scene): Promise<void> {
  const { kubectl, block, shell } = stage;
  await scene('removal leaves nothing but the database', async () => {
    if (stage.blocksLeft().includes('upgrade')) await block('upgrade');
    await block('removal');
    for (const name of namespaces)
      await until(
        `${name} is gone`,
        async () => (await kubectl(`get namespace ${name} --ignore-not-found`)) === '',
        3 * minutes,
      );
    const kinds =
      'pods,pvc,pv,secrets,configmaps,jobs,deployments,services,networkpolicies,clusterroles,clusterrolebindings,apiservices';
    const left = JSON.parse(await kubectl(`get ${kinds} --all-namespaces -o json`)) as {
      items: { kind: string; metadata: { name: string; labels?: object } }[];
    };
    const ours = left.items.filter(({ metadata }) =>
      /gantry/.test(JSON.stringify([metadata.name, metadata.labels ?? {}])),
    );
    assert.deepEqual(
      ours.map(({ kind, metadata }) => `${kind} ${metadata.name}`),
      [],
    );
    const tables = await shell(
      `psql "$DATABASE_URL" -At -c "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"`,
    );
    assert.ok(Number(tables) > 10);
    return `no Pod, claim, volume, Secret, ConfigMap, Job or role of Gantry; the database has its ${tables.trim()} tables`;
  });
  if (existsSync(stage.clone) && stage.parts.includes('install'))
    await scene('every block of the page was played', async () => {
      assert.deepEqual(stage.blocksLeft(), []);
      return 'those of docs/deploy.md that name this job';
    });
}

/** The provider has a certificate that only this play trusts. */
const trustPatch = `patches:
  - target: { kind: Deployment }
    patch: |-
      - op: add
        path: /spec/template/spec/volumes/-
        value: { name: play, configMap: { name: play } }
      - op: add
        path: /spec/template/spec/containers/0/volumeMounts/-
        value: { name: play, mountPath: /etc/play }
      - op: add
        path: /spec/template/spec/containers/0/env/-
        value: { name: NODE_EXTRA_CA_CERTS, value: /etc/play/tls.pem }
`;
