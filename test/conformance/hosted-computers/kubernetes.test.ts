// Runs apart: it needs a cluster, with the image of computers, and this process at an address that Pods reach.
import { readFileSync, writeFileSync } from 'node:fs';
import type { V1Pod } from '@kubernetes/client-node';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import type { ComputerSpec, HostedDriver } from '../../../src/cloud-api/hosted-computers/driver.ts';
import { openCluster } from '../../../src/kit/kubernetes/cluster.ts';
import { noCluster, openKubernetes } from './kubernetes-subject.ts';
import { triesAtSocket } from './probes.ts';

if (noCluster() !== null) console.warn(`Not run: the driver kubernetes on a cluster (${noCluster()}).`);

const one = 'cmp_000000000042';
const unlimited = { memory: null, processes: null };
const specOf = (computer: string, more: Partial<ComputerSpec> = {}): ComputerSpec => ({
  computer,
  key: `${computer}.1`,
  image: null,
  limits: unlimited,
  toolset: 'shell',
  egress: 'public',
  lifetime: null,
  ...more,
});
const patience = 240_000;
const file = new URL('../../data/kubernetes/pods.json', import.meta.url);

/** Of a Pod's status, what a driver can go by. */
function shortened({ spec, status }: V1Pod): object {
  const { phase, reason, message, conditions, initContainerStatuses, containerStatuses } = status ?? {};
  const short = (all: typeof containerStatuses) =>
    all?.map(({ name, ready, started, restartCount, image, imageID, state }) => {
      const { containerID: _, ...ended } = (state?.terminated ?? {}) as { containerID?: string };
      return {
        name,
        ready,
        started,
        restartCount,
        image,
        imageID,
        state: state?.terminated ? { terminated: ended } : state,
      };
    });
  return {
    nodeName: spec?.nodeName,
    phase,
    reason,
    message,
    conditions: conditions?.map(({ type, status: of, reason: why, message: said }) => ({
      type,
      status: of,
      reason: why,
      message: said,
    })),
    initContainerStatuses: short(initContainerStatuses),
    containerStatuses: short(containerStatuses),
  };
}

describe.skipIf(noCluster() !== null)('the driver kubernetes on a cluster', () => {
  let subject: Awaited<ReturnType<typeof openKubernetes>>;
  let driver: HostedDriver;
  const recorded: Record<string, object[]> = {};

  beforeAll(async () => {
    subject = await openKubernetes();
    driver = subject.connect('0a1b2c3d4e');
    for (const { computer } of await driver.list()) await driver.delete(computer);
  }, patience);
  afterEach(async () => {
    for (const { computer } of await driver.list()) await driver.delete(computer);
    expect(subject.remains()).toEqual([]);
  }, patience);
  afterAll(async () => {
    driver?.close();
    await subject?.close();
    if (!process.env.GANTRY_RECORD_ENGINE) return;
    const before = JSON.parse(readFileSync(file, 'utf8')) as Record<string, object[]>;
    writeFileSync(file, `${JSON.stringify({ ...before, ...recorded }, null, 1)}\n`);
  });

  const made = async (computer: string, more: Partial<ComputerSpec> = {}) => {
    await driver.create(specOf(computer, more));
    return driver.start(computer);
  };
  const run = async (computer: string, command: string) => {
    const linked = await subject.link(computer);
    const { body } = await linked.drive('shell', 'exec', { command, shell: true });
    await linked.close();
    return body.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
  };
  /** What the cluster says of the computer's Pods while something is done. */
  async function recording(life: string, work: () => Promise<unknown>): Promise<void> {
    const end = new AbortController();
    onTestFinished(() => end.abort());
    const cluster = await openCluster({ kubeconfig: process.env.GANTRY_TEST_KUBECONFIG! });
    const namespace = process.env.GANTRY_TEST_NAMESPACE!;
    const { metadata } = await cluster.core.listNamespacedPod({ namespace, limit: 1 });
    const said: object[] = [];
    const watched = cluster.watch(
      `/api/v1/namespaces/${namespace}/pods`,
      { labelSelector: 'gantry.dev/computer', resourceVersion: metadata?.resourceVersion ?? '' },
      (_type, object) => {
        const pod = object as V1Pod;
        // What follows is the end of a Pod that somebody deleted.
        if (pod.metadata?.deletionTimestamp === undefined && pod.status?.conditions !== undefined)
          said.push(shortened(pod));
      },
      end.signal,
    );
    await work();
    // The stream may be behind what was read.
    const { items } = await cluster.core.listNamespacedPod({ namespace, labelSelector: 'gantry.dev/computer' });
    for (const pod of items) if (pod.metadata?.deletionTimestamp === undefined) said.push(shortened(pod));
    end.abort();
    await watched.catch(() => {});
    const kept = said.map((one) => JSON.stringify(one));
    recorded[life] = said.filter((_, at) => kept.indexOf(kept[at]!) === at);
    const before = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown[]>;
    // It ends as what is replayed does.
    const endOf = (all: readonly unknown[] = [{}]) => {
      const { phase, containerStatuses = [] } = all.at(-1) as {
        phase: string;
        containerStatuses?: { name: string; state: object }[];
      };
      return [phase, containerStatuses.map(({ name, state }) => `${name} ${Object.keys(state)}`).sort()];
    };
    if (!process.env.GANTRY_RECORD_ENGINE) expect(endOf(recorded[life])).toEqual(endOf(before[life]));
  }
  const faultOf = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (fault: { code?: string; message: string }) => `${fault.code}: ${fault.message}`,
    );
  const stateNow = async () => (await driver.inspect(one))?.state;

  test('a computer starts, runs commands, sleeps on its disk, wakes with its files and ends when its program does', {
    timeout: patience,
  }, async () => {
    expect(await driver.away()).toBe(null);
    expect((await driver.capabilities()).refused).toBe(null);
    await recording('runs', () => made(one));
    expect(await run(one, 'echo kept > ~/kept; id -u')).toBe('61000\n');
    await driver.sleep(one);
    expect(await stateNow()).toBe('sleeping');
    await driver.wake(one);
    expect(await run(one, 'cat ~/kept')).toBe('kept\n');
    const stop = driver.watch(null, { changed() {}, missed() {} });
    onTestFinished(stop);
    await recording('crashes', async () => {
      subject.crash(one);
      await expect.poll(stateNow, { timeout: 60_000 }).toBe('stopped');
    });
    expect((await driver.inspect(one))?.why).toMatch(/^It ended unexpectedly \(code \d+\)\.$/);
  });

  test('a lifetime ends a computer inside of its Pod, with the reason', { timeout: patience }, async () => {
    await made(one, { lifetime: 40_000 });
    await recording('lives out', () => expect.poll(stateNow, { timeout: 90_000 }).toBe('stopped'));
    expect(await driver.inspect(one)).toMatchObject({ why: 'Its lifetime of 40 s is over.' });
  });

  test('nothing in a computer has a right over its network, reaches its cloud, or can look into the folder of its socket', {
    timeout: patience,
  }, async () => {
    await made(one);
    const { user, ...tries } = triesAtSocket(subject, one);
    expect([user, tries]).toEqual([true, { connects: 'EACCES', lists: 'EACCES', replaces: 'EACCES' }]);
    expect(() => subject.inside(one, ['nft', 'flush', 'ruleset'])).toThrow();
    expect(() => subject.inside(one, ['cat', '/run/gantry-boot/boot.json'])).toThrow(/denied/);
    const { host } = new URL(process.env.GANTRY_TEST_CLOUD!);
    // The link holds meanwhile: only its user gets there.
    for (const address of [host, '10.77.0.1:6443', '10.0.0.1:80', '169.254.169.254:80']) {
      const [name, port] = address.split(':');
      const program = `require('node:net').connect(${port}, '${name}').on('connect', () => console.log('open')).on('error', ({ code }) => console.log(code))`;
      expect([address, subject.inside(one, ['node', '-e', program])]).toEqual([address, 'ECONNREFUSED']);
    }
    // The link may have been cut meanwhile, because this process waited for those answers and for nothing else.
    await expect.poll(() => run(one, 'echo linked').catch(String), { timeout: 60_000 }).toBe('linked\n');
    const rights = subject.inside(one, ['bash', '-c', "grep -h '^Cap\\(Prm\\|Eff\\)' /proc/[0-9]*/status | sort -u"]);
    expect(rights).toContain('CapEff:\t0000000000000000');
    expect(() => subject.inside(one, ['touch', '/usr/new'])).toThrow(/Read-only/);
  });

  test('without egress nothing is reached, not even a name server, and the computer is called all the same', {
    timeout: patience,
  }, async () => {
    await made(one, { egress: 'none' });
    expect(await run(one, 'getent hosts outside.test || echo nothing')).toBe('nothing\n');
  });

  test('what cannot start says why in the cluster’s words, and leaves nothing', { timeout: 2 * patience }, async () => {
    const tried = async (life: string, more: Partial<ComputerSpec>, env: Readonly<Record<string, string>> = {}) => {
      const other = subject.connect('0a1b2c3d4e', env);
      await other.create(specOf(one, more));
      let said: string | null = null;
      await recording(life, async () => {
        said = await faultOf(other.start(one));
      });
      await expect
        .poll(() => subject.remains().filter((name) => /pod|secret/.test(name)), { timeout: 60_000 })
        .toEqual([]);
      await other.delete(one);
      return said;
    };
    expect(await tried('is open', {}, { GANTRY_COMPUTERS_CLOUD: 'http://nowhere.test:1' })).toMatch(
      /^failed: It ended while starting\. It ended: The computer's network could not be restricted .*: the cloud is not found/,
    );
    expect(await tried('is not pulled', { image: 'acme/nothing:here' })).toMatch(
      /^unsupported: The image acme\/nothing:here cannot be pulled \(\w+\): /,
    );
    const tooMuch = { GANTRY_COMPUTERS_MEMORY: '1048576' };
    expect(await tried('is not placed', {}, tooMuch)).toMatch(/^full: No node takes it: .*Insufficient memory/);
    const noClass = { GANTRY_COMPUTERS_STORAGE_CLASS: 'not-there' };
    expect(await tried('has no disk', {}, noClass)).toMatch(
      /^failed: No node takes it: .*PersistentVolumeClaim.*"not-there" not found/,
    );
  });

  test('a Pod that a person deletes is told as ended, and the next start has its files', {
    timeout: patience,
  }, async () => {
    await made(one);
    await run(one, 'echo kept > ~/kept');
    const heard: string[] = [];
    onTestFinished(driver.watch(null, { changed: ({ state, why }) => heard.push(`${state} ${why}`), missed() {} }));
    subject.kubectl('delete', 'pod', '-l', `gantry.dev/computer=${one}`);
    await expect.poll(() => heard.at(-1), { timeout: 60_000 }).toMatch(/^stopped It ended: .*Pod/);
    await driver.start(one);
    expect(await run(one, 'cat ~/kept')).toBe('kept\n');
  });

  test('a quota that is used up is told, and two installations in one namespace leave each other alone', {
    timeout: patience,
  }, async () => {
    const other = subject.connect('f6a7b8c9d0');
    await made(one);
    expect([await other.list(), await other.inspect(one)]).toEqual([[], null]);
    subject.kubectl('create', 'quota', 'computers', '--hard=pods=1');
    onTestFinished(() => void subject.kubectl('delete', 'quota', 'computers'));
    await expect
      .poll(() => subject.kubectl('get', 'quota', 'computers', '-o', 'jsonpath={.status.used.pods}'))
      .toBe('1');
    await other.create(specOf('cmp_000000000043'));
    expect(await faultOf(other.start('cmp_000000000043'))).toMatch(
      /^full: The cluster answered: .*exceeded quota: computers/,
    );
    await other.delete(one);
    await other.delete('cmp_000000000043');
    expect(await stateNow()).toBe('running');
  });
});
