/**
 * What a cluster refuses, holds up or takes away: quotas, limits, taints, disks, images, cut streams, wrong clocks, rights. The driver `kubernetes` runs
 * here, from the source, with an account that has the rights of the bases and nothing else; refused-jobs.ts does the same with tasks. Each scene asks
 * for the code, for the sentence, and that nothing is left. Needs the image of computers on the nodes, and no installed cloud.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import {
  type ComputerSpec,
  type DriverChange,
  DriverFault,
  type HostedDriver,
} from '../../../src/cloud-api/hosted-computers/driver.ts';
import { readComputersCluster } from '../../../src/host/computers-engine.ts';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { openKubernetes } from '../../conformance/hosted-computers/kubernetes-subject.ts';
import { textOf } from '../../docs/blocks.ts';
import { pauseImage } from '../../support/cluster/node.ts';
import type { Scenes } from '../scenes.ts';
import { seconds, until } from '../scenes.ts';
import { playRefusedJobs } from './refused-jobs.ts';
import { openRelay } from './relay.ts';
import { computerImage, minutes, type Pod, type Stage } from './stage.ts';

/** What the scenes need of the stage. */
export type RefusalStage = Pick<Stage, 'kubeconfig' | 'folder' | 'nodes' | 'shell' | 'kubectl'>;

export interface RefusalPlace {
  readonly namespace: string;
  readonly kubectl: (words: string) => Promise<string>;
  readonly apply: (...objects: readonly object[]) => Promise<void>;
  /** Of an account with the rights that this file gives in the bases. */
  readonly account: (role: string) => Promise<{ readonly kubeconfig: string; readonly binding: string }>;
  /** A quota that the cluster has counted; answers how to remove it. */
  readonly quota: (hard: Readonly<Record<string, string>>) => Promise<() => Promise<unknown>>;
  /** On every node, a registry that takes a question and never answers. Its images begin with `127.0.0.1:5999/`. */
  readonly silentRegistry: () => Promise<() => void>;
  readonly pods: (selector: string) => Promise<readonly Pod[]>;
}

const namespace = 'gantry-refusals';
const dialled = new URL('http://outside.test:8097');
const silentImage = '127.0.0.1:5999/never/ends:1';
const usual = { GANTRY_COMPUTERS_STORAGE_CLASS: 'test', GANTRY_COMPUTERS_DISK: '64', GANTRY_COMPUTERS_MEMORY: '512' };
const hour = 3_600_000;

interface List {
  readonly items: readonly { readonly data: { readonly record: string } }[];
}

export async function playRefusals(stage: RefusalStage, scene: Scenes['scene']): Promise<void> {
  const place = placeOf(stage);
  await place.kubectl(`create namespace ${namespace}`);
  try {
    await playRefusedComputers(stage, place, scene);
    await playRefusedJobs(place, scene);
  } finally {
    await place.kubectl(`delete namespace ${namespace}`);
  }
}

function placeOf(stage: RefusalStage): RefusalPlace {
  const kubectl = (words: string) => stage.kubectl(`--namespace=${namespace} ${words}`);
  let [files, quotas] = [0, 0];
  const apply = async (...objects: readonly object[]) => {
    files += 1;
    const file = join(stage.folder, `refusals-${files}.json`);
    writeFileSync(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    await kubectl(`apply -f ${file}`);
  };
  return {
    namespace,
    kubectl,
    apply,
    async account(role) {
      const name = role.split('/').at(-2)!;
      const file = join(stage.folder, `${name}.kubeconfig`);
      const [rights] = textOf(role).split(/^---$/m);
      const rules = join(stage.folder, `${name}.yaml`);
      writeFileSync(
        rules,
        rights!.replace(/^( {2}name): .*$/m, `$1: ${name}`).replace(/^( {2}namespace): .*$/m, `$1: ${namespace}`),
      );
      await kubectl(`create serviceaccount ${name}`);
      await kubectl(`apply -f ${rules}`);
      const binding = `create rolebinding ${name} --role=${name} --serviceaccount=${namespace}:${name}`;
      await kubectl(binding);
      const token = await until('the account has a token', async () => {
        const secret = await kubectl(`get serviceaccount ${name} -o jsonpath={.secrets[0].name}`);
        return kubectl(`get secret ${secret} -o jsonpath={.data.token}`);
      });
      const config = JSON.parse(readFileSync(stage.kubeconfig, 'utf8')) as { users: { user: object }[] };
      config.users[0]!.user = { token: Buffer.from(token, 'base64').toString() };
      writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
      return { kubeconfig: file, binding };
    },
    async quota(hard) {
      quotas += 1;
      const name = `quota-${quotas}`;
      await apply({ apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name }, spec: { hard } });
      await until('the quota is counted', async () => {
        const counted = await kubectl(`get quota ${name} -o jsonpath={.status.used}`);
        return Object.keys(hard).every((what) => counted.includes(what));
      });
      return () => kubectl(`delete quota ${name}`);
    },
    async silentRegistry() {
      const here = (await stage.shell('ip netns identify $$')).trim();
      const listens = "require('node:net').createServer(() => {}).listen(5999, '127.0.0.1', () => console.log('open'))";
      const servers = stage.nodes.map((node) =>
        spawn('nsenter', [`--net=/var/run/netns/${here.replace(/[^-]+$/, node)}`, process.execPath, '-e', listens]),
      );
      const end = () => {
        for (const server of servers) server.kill();
      };
      try {
        for (const { stdout } of servers)
          await new Promise((resolve, reject) => stdout.once('data', resolve).once('end', reject));
      } catch {
        end();
        throw new Error('a node could not be given a registry');
      }
      return end;
    },
    async pods(selector) {
      return (JSON.parse(await kubectl(`get pods -o json -l ${selector}`)) as { items: Pod[] }).items;
    },
  };
}

async function playRefusedComputers(stage: RefusalStage, place: RefusalPlace, scene: Scenes['scene']): Promise<void> {
  const { kubectl, apply, quota } = place;
  const { kubeconfig, binding } = await place.account('deploy/kubernetes/components/computers/role.yaml');
  const env = { ...usual, GANTRY_COMPUTERS_IMAGE: computerImage, KUBECONFIG: kubeconfig };
  const subject = await openKubernetes(env, { kubeconfig: stage.kubeconfig, namespace, dialled });
  let computers = 0;
  const specOf = (more: Partial<ComputerSpec> = {}): ComputerSpec => {
    computers += 1;
    const computer = more.computer ?? `cmp_${String(computers).padStart(12, '0')}`;
    const limits = { memory: null, processes: null };
    return {
      computer,
      key: computer,
      image: null,
      limits,
      toolset: 'shell',
      egress: 'public',
      lifetime: null,
      ...more,
    };
  };
  const connect = (more: Readonly<Record<string, string>> = {}, clock = systemClock) =>
    subject.connect('0123456789', more, clock);
  const driver = connect();
  const remains = async (kinds = 'pods,pvc,secrets,configmaps') =>
    (await kubectl(`get ${kinds} -l gantry.dev/computer -o name`)).split('\n').filter(Boolean);
  const nothingIsLeft = () => until('nothing is left', async () => (await remains()).length === 0, 2 * minutes);
  const podsOf = (computer: string) => place.pods(`gantry.dev/computer=${computer}`);
  const drive = async (computer: string) => {
    const linked = await subject.link(computer);
    const { body } = await linked.drive('shell', 'exec', { command: 'echo here', shell: true });
    await linked.close();
    assert.match(JSON.stringify(body), /here/);
  };
  /** Answers the sentence. */
  const refused = async (work: Promise<unknown>, code: string | null, words: RegExp): Promise<string> => {
    const fault = await work.then(
      () => assert.fail(`nothing was refused that should have said ${words}`),
      (error: Error) => error,
    );
    assert.equal(fault instanceof DriverFault ? fault.code : null, code, fault.message);
    assert.match(fault.message, words);
    return fault.message;
  };
  /** A start that is refused leaves the computer as it was before, with the reason. */
  const startRefused = async (by: HostedDriver, spec: ComputerSpec, code: string, words: RegExp) => {
    const began = performance.now();
    const said = await refused(by.start(spec.computer), code, words);
    const after = seconds(began);
    const state = await by.inspect(spec.computer);
    assert.deepEqual([state?.state, state?.why], ['stopped', said]);
    return `after ${after} ${code} "${said}"`;
  };
  const heardOf = (by: HostedDriver, since: string | null = null) => {
    const changes: DriverChange[] = [];
    let missed = 0;
    const end = by.watch(since, { changed: (change) => changes.push(change), missed: () => (missed += 1) });
    return {
      end,
      missed: () => missed,
      of: (computer: string) => changes.filter((one) => one.computer === computer).map(({ state }) => state),
      cursors: (computer: string) => changes.filter((one) => one.computer === computer).map(({ cursor }) => cursor),
      changes,
    };
  };

  try {
    await scene('quotas of a namespace', async () => {
      const [first, second] = [specOf(), specOf()];
      for (const spec of [first, second]) await driver.create(spec);
      await driver.start(first.computer);
      const said: string[] = [];
      for (const [what, most] of [
        ['pods', '1'],
        ['limits.memory', '1000Mi'],
      ] as const) {
        const end = await quota({ [what]: most });
        said.push(await startRefused(connect(), second, 'full', /exceeded quota: quota-\d+, requested: .*limited: /));
        assert.equal((await podsOf(second.computer)).length, 0);
        await end();
      }
      // No computer is made that could never start, and the driver says so of itself.
      const forbids = await quota({ 'limits.memory': '600Mi' });
      const third = specOf();
      said.push(
        await refused(connect().create(third), 'unsupported', /limits\.memory=640Mi.*limited: limits\.memory=600Mi/),
      );
      assert.match((await connect().capabilities()).refused ?? '', /limited: limits\.memory=600Mi/);
      await forbids();
      for (const [hard, code] of [
        [{ persistentvolumeclaims: '2' }, 'full'],
        [{ 'requests.storage': '1Mi' }, 'unsupported'],
      ] as const) {
        const end = await quota(hard);
        said.push(await refused(connect().create(third), code, /persistentvolumeclaims .* exceeded quota/));
        await end();
        // As its cloud does.
        await driver.delete(third.computer);
      }
      const demands = await quota({ 'limits.cpu': '4' });
      said.push(await refused(connect().create(third), 'unsupported', /must specify limits\.cpu/));
      await demands();
      assert.equal((await driver.inspect(first.computer))?.state, 'running');
      await driver.start(second.computer);
      await drive(second.computer);
      for (const { computer } of [first, second]) await driver.delete(computer);
      await nothingIsLeft();
      return `${said.join('; ')}; with room the second one started`;
    });

    await scene('a LimitRange that contradicts', async () => {
      const limits = async (limit: object) => {
        await apply({ apiVersion: 'v1', kind: 'LimitRange', metadata: { name: 'limits' }, spec: { limits: [limit] } });
        return () => kubectl('delete limitrange limits');
      };
      const said: string[] = [];
      for (const [limit, code, words] of [
        [{ type: 'Container', max: { memory: '256Mi' } }, 'unsupported', /maximum memory usage per Container is 256Mi/],
        [{ type: 'Container', maxLimitRequestRatio: { memory: '2' } }, 'unsupported', /ratio/],
        [{ type: 'Container', default: { cpu: '10m' } }, 'unsupported', /must be less than or equal to cpu limit/],
        [{ type: 'PersistentVolumeClaim', min: { storage: '1Gi' } }, 'failed', /minimum storage usage .* is 1Gi/],
      ] as const) {
        const end = await limits(limit);
        const spec = specOf();
        // The API server may not have seen it yet.
        const message = await until('it is refused', async () => {
          const by = connect();
          const fault = await by.create(spec).then(
            () => null,
            (error: Error) => error,
          );
          await by.delete(spec.computer);
          if (fault === null) return null;
          return refused(Promise.reject(fault), code, words);
        });
        said.push(`${code} "${message}"`);
        await end();
      }
      await nothingIsLeft();
      return said.join('; ');
    });

    await scene('no node takes a computer, until one has room', async () => {
      const room = (name: string, label: string) => ({
        ...{ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name }, handler: 'runc' },
        scheduling: { nodeSelector: { [label]: 'yes' } },
      });
      await apply(room('gantry-never', 'gantry.dev/never'), room('gantry-later', 'gantry.dev/later'));
      const [never, later] = ['gantry-never', 'gantry-later'].map((name) =>
        connect({ GANTRY_COMPUTERS_RUNTIME: name }),
      );
      const [spec, other] = [specOf(), specOf()];
      try {
        await never!.create(spec);
        await later!.create(other);
        // A node gets room after half of the time.
        const comes = async () => {
          const starting = later!.start(other.computer);
          await delay(minutes);
          await kubectl(`label node ${stage.nodes[0]} gantry.dev/later=yes`);
          await starting;
          await drive(other.computer);
        };
        const words = /^No node takes it: 0\/\d nodes are available: .*node (?:affinity|selector)/;
        const [said] = await Promise.all([startRefused(never!, spec, 'full', words), comes()]);
        assert.deepEqual(await podsOf(spec.computer), []);
        for (const { computer } of [spec, other]) await driver.delete(computer);
        await nothingIsLeft();
        return `${said}; another one started on the node that got room after a minute`;
      } finally {
        await kubectl(`label node ${stage.nodes[0]} gantry.dev/later-`);
        await kubectl('delete runtimeclass gantry-never gantry-later');
      }
    });

    await scene('taints on all nodes', async () => {
      const taint = (end: '' | '-') =>
        kubectl(`taint nodes ${stage.nodes.join(' ')} gantry.dev/test=kept:NoSchedule${end}`);
      const hurried = { now: systemClock.now, monotonic: () => performance.now() * 10 };
      const spec = specOf();
      await driver.create(spec);
      await taint('');
      let said: string;
      try {
        said = await startRefused(connect({}, hurried), spec, 'full', /taint \{gantry\.dev\/test: kept\}/);
      } finally {
        await taint('-');
      }
      assert.deepEqual(await remains('pods,secrets'), []);
      await driver.start(spec.computer);
      await drive(spec.computer);
      await driver.delete(spec.computer);
      await nothingIsLeft();
      return `${said} (a tenth of the time); without them it started`;
    });

    await scene('disks that are not made', async () => {
      const klass = (name: string, volumeBindingMode: string) => ({
        ...{ apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass', provisioner: 'nobody.test/none' },
        ...{ metadata: { name }, volumeBindingMode },
      });
      await apply(klass('gantry-unbound', 'Immediate'), klass('gantry-late', 'WaitForFirstConsumer'));
      const tried = async (storage: string, code: string, words: RegExp) => {
        const by = connect({ GANTRY_COMPUTERS_STORAGE_CLASS: storage });
        const spec = specOf();
        await by.create(spec);
        const said = await startRefused(by, spec, code, words);
        await by.delete(spec.computer);
        return said;
      };
      const said = await Promise.all([
        tried('gantry-nowhere', 'failed', /PersistentVolumeClaim.*"gantry-nowhere" not found/),
        tried('gantry-unbound', 'failed', /unbound immediate PersistentVolumeClaims/),
        tried('gantry-late', 'timeout', /within 120 s\. The cluster last said: .*nobody\.test\/none/),
      ]);
      await nothingIsLeft();
      await kubectl('delete storageclass gantry-unbound gantry-late');
      return said.join('; ');
    });

    await scene('images that are not there, that cannot begin, and whose pull never ends', async () => {
      const tried = async (image: string, code: string, words: RegExp) => {
        const spec = specOf({ image });
        await driver.create(spec);
        const said = await startRefused(driver, spec, code, words);
        await driver.delete(spec.computer);
        return said;
      };
      const said = await Promise.all([
        tried(
          '127.0.0.1:5998/nothing/here:1',
          'unsupported',
          /cannot be pulled \((?:ErrImagePull|ImagePullBackOff)\): (?!.*resolve reference.*resolve reference)/,
        ),
        tried('Not:A:Name', 'unsupported', /\(InvalidImageName\)/),
        tried(pauseImage, 'unsupported', new RegExp(`The image ${pauseImage} cannot start a computer\\. .*bash`)),
      ]);
      await nothingIsLeft();
      // A node pulls one image at a time.
      const end = await place.silentRegistry();
      try {
        said.push(await tried(silentImage, 'timeout', /within 120 s\. The cluster last said: Pulling image "127/));
        await nothingIsLeft();
      } finally {
        end();
      }
      return said.join('; ');
    });

    await scene('a watch that is cut, and one that the API server has forgotten', async () => {
      const relay = await openRelay(kubeconfig, join(stage.folder, 'relayed.kubeconfig'));
      const ends: (() => void)[] = [() => relay.close()];
      try {
        const behind = connect({ KUBECONFIG: relay.kubeconfig });
        const [cut, whole, ancient, strange] = [
          heardOf(behind),
          heardOf(driver),
          heardOf(driver, '1'),
          heardOf(driver, 'x'),
        ];
        ends.push(cut.end, whole.end, ancient.end, strange.end);
        await until(
          'two watches say that they missed something',
          async () => ancient.missed() + strange.missed() === 2,
        );
        await until('streams are open', async () => relay.connections() > 0);
        const spec = specOf();
        const { computer } = spec;
        await driver.create(spec);
        const starting = driver.start(computer);
        await until('it starts', async () => whole.of(computer).includes('starting'));
        relay.cut();
        await starting;
        relay.hold();
        await driver.sleep(computer);
        relay.cut();
        relay.release();
        await driver.wake(computer);
        await driver.delete(computer);
        const all = ['starting', 'running', 'sleeping', 'starting', 'running', 'stopped', 'gone'];
        for (const one of [whole, cut, ancient, strange]) {
          await until('each state is heard', async () => one.of(computer).length >= all.length, 60_000);
          assert.deepEqual([one.of(computer), one.cursors(computer)], [all, whole.cursors(computer)]);
        }
        assert.deepEqual([whole.missed(), cut.missed(), ancient.missed(), strange.missed()], [0, 0, 1, 1]);
        await nothingIsLeft();
        return `${all.length} changes were heard once each by the one that was cut ${relay.cuts()} times and by those that had to begin again, which said so once`;
      } finally {
        for (const end of ends) end();
      }
    });

    await scene('clocks that are an hour wrong', async () => {
      const skewed = (by: number) => ({ now: () => Date.now() + by, monotonic: systemClock.monotonic });
      const [ahead, behind] = [connect({}, skewed(hour)), connect({}, skewed(-hour))];
      const heard = heardOf(driver);
      const spec = specOf();
      const { computer } = spec;
      try {
        await driver.create(spec);
        // As another replica has it between the record of a start and its Pod.
        const [record] = (JSON.parse(await kubectl(`get configmap -o json -l gantry.dev/computer=${computer}`)) as List)
          .items;
        const begun = { state: 'starting', since: Date.now(), start: '0a0b0c0d' };
        await apply({ ...record!, data: { record: JSON.stringify({ ...JSON.parse(record!.data.record), ...begun }) } });
        for (const by of [ahead, behind, ahead, behind]) assert.equal((await by.inspect(computer))?.state, 'starting');
        // That replica was killed: after the time of a start by the own clock it is given up.
        const hurried = connect({}, { ...skewed(-hour), monotonic: () => performance.now() * 100 });
        await until('it is given up', async () => (await hurried.inspect(computer))?.state === 'stopped');
        await driver.start(computer);
        for (const by of [ahead, behind]) assert.equal((await by.inspect(computer))?.state, 'running');
        await drive(computer);
        const before = Date.now();
        await kubectl(`delete pod -l gantry.dev/computer=${computer} --wait=false`);
        await until('it has ended', async () => (await driver.inspect(computer))?.state === 'stopped');
        const { since } = (await driver.inspect(computer))!;
        assert.ok(since >= before - 1000 && since <= Date.now(), `ended at ${new Date(since).toISOString()}`);
        await ahead.start(computer);
        await behind.sleep(computer);
        await ahead.delete(computer);
        const all = 'starting stopped starting running stopped starting running sleeping stopped gone'.split(' ');
        await until('it is gone', async () => heard.of(computer).includes('gone'));
        assert.deepEqual(heard.of(computer), all);
        await nothingIsLeft();
        return `one replica an hour fast and one an hour slow: ${all.join(', ')}, each once`;
      } finally {
        heard.end();
      }
    });

    await scene('names that no cluster takes', async () => {
      const given = { GANTRY_COMPUTERS_ENGINE: 'kubernetes', ...env };
      const said = Object.entries({
        GANTRY_COMPUTERS_NAMESPACE: 'n'.repeat(64),
        GANTRY_COMPUTERS_STORAGE_CLASS: 's'.repeat(254),
        GANTRY_COMPUTERS_RUNTIME: 'Not_A_Label',
      }).map(([name, value]) => {
        assert.throws(() => readComputersCluster({ ...given, [name]: value }), {
          code: 'usage',
          message: new RegExp(`${name} is "${value.slice(0, 9)}`),
        });
        return name;
      });
      const long = specOf({ computer: `cmp_${'a'.repeat(60)}` });
      said.push(await refused(driver.create(long), 'unsupported', /must be no more than 63 characters/));
      await driver.delete(long.computer);
      await nothingIsLeft();
      return said.join('; ');
    });

    await scene('rights that are taken away while it runs', async () => {
      const [spec, other] = [specOf(), specOf()];
      for (const one of [spec, other]) await driver.create(one);
      await driver.start(spec.computer);
      await drive(spec.computer);
      const heard = heardOf(driver);
      try {
        await until('it hears', async () => {
          await driver.list();
          return true;
        });
        await kubectl('delete rolebinding computers');
        const lacks = /^The cluster refuses this Gantry a right that it needs: .* cannot \w+ resource "\w+" /;
        await until('the right is gone', async () => (await driver.away()) !== null);
        assert.match((await driver.away()) ?? '', lacks);
        const by = connect();
        assert.match((await by.capabilities()).refused ?? '', lacks);
        const { computer } = spec;
        // Not a fault of the computer.
        for (const work of [
          () => by.create(specOf()),
          () => by.start(other.computer),
          () => by.start(computer),
          () => by.inspect(computer),
          () => by.list(),
          () => by.sleep(computer),
          () => by.stop(computer),
          () => by.delete(computer),
        ])
          await refused(work(), null, lacks);
        await kubectl(`delete pod -l gantry.dev/computer=${computer} --wait=false`);
        await kubectl(binding);
        await until('it is reached again', async () => (await driver.away()) === null);
        await until('what happened meanwhile is heard', async () => heard.of(computer).includes('stopped'), minutes);
        await driver.start(computer);
        await drive(computer);
        for (const one of [spec, other]) await driver.delete(one.computer);
        await until('it is gone', async () => heard.of(computer).includes('gone'), minutes);
        assert.deepEqual(heard.of(computer), ['stopped', 'starting', 'running', 'stopped', 'gone']);
        await nothingIsLeft();
        return 'eight calls named the right; afterwards the Pod that was deleted meanwhile was told once, and the computer started again';
      } finally {
        heard.end();
      }
    });
  } finally {
    for (const { computer } of await driver.list().catch(() => [])) await driver.delete(computer).catch(() => {});
    await subject.close();
  }
}
