/**
 * A computer that a cluster makes, from the question to the answer of its first call, for one and for several at once. Beside it, in the same rounds, a
 * Pod of the same image that the same cluster starts until it is ready: what any driver pays there. No computer is kept warm in a cluster.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { type Cluster, openCluster, statusOf } from '../../../src/kit/kubernetes/cluster.ts';
import { makeNamespace, noCluster, openKubernetes } from '../../conformance/hosted-computers/kubernetes-subject.ts';
import type { Figure, FigureOptions, Measured } from '../../support/bench/figure.ts';
import { median, quantile, rounded } from '../../support/bench/numbers.ts';
import { notMeasured } from '../../support/computers/drivers.ts';

export const figures: readonly Figure[] = [{ name: 'hosted-computers.claim.kubernetes', run: claim }];

const unit = 'times the time of a plain Pod, from the create of a computer to the answer of its first call';
const at =
  'the driver kubernetes beside its cluster, computers of the toolset shell, one after another and five at once; the slower of both';
/** Milliseconds. */
const looksEvery = 100;
const counts = [1, 5] as const;

async function claim({ quick, log }: FigureOptions): Promise<Measured> {
  const why = notMeasured('kubernetes', noCluster);
  if (why !== null) return { value: null, unit, n: 0, at, why };
  const place = await makeNamespace();
  const closing: (() => Promise<unknown> | unknown)[] = [place.remove];
  try {
    const subject = await openKubernetes();
    const driver = subject.connect('0f1a2b3c4e');
    closing.push(subject.close, driver.close);
    const cluster = await openCluster(place);
    const claimed = async (computer: string) => {
      const began = performance.now();
      const spec = { computer, key: computer, image: null, limits: { memory: null, processes: null } };
      await driver.create({ ...spec, toolset: 'shell', egress: 'public', lifetime: null });
      await driver.start(computer);
      const link = await subject.link(computer);
      const { status, body } = await link.drive('shell', 'exec', { command: 'true' });
      const took = performance.now() - began;
      await link.close();
      if (status !== 200 || body.is_error) throw new Error(`The first call: ${status} ${JSON.stringify(body)}`);
      return took;
    };
    const detail: Record<string, unknown> = {};
    const found: { readonly ratio: number; readonly own: number; readonly plain: number; readonly n: number }[] = [];
    for (const count of counts) {
      const rounds = quick ? 3 : count === 1 ? 15 : 6;
      const [own, plain]: [number[], number[]] = [[], []];
      // The first round also reads from the disk what every start needs.
      for (let round = -1; round < rounds; round += 1) {
        const numbers = Array.from({ length: count }, (_, index) => index);
        const named = numbers.map((number) => `cmp_${String(count * 100 + number).padStart(12, '0')}`);
        const ours = await Promise.all(named.map(claimed));
        await Promise.all(named.map(driver.delete));
        const theirs = await Promise.all(numbers.map((number) => ready(cluster, place.namespace, `plain-${number}`)));
        await Promise.all(numbers.map((number) => remove(cluster, place.namespace, `plain-${number}`)));
        if (round < 0) continue;
        own.push(...ours);
        plain.push(...theirs);
        log(`${count} at once: ${rounded(median(ours), 0)} ms, a plain Pod ${rounded(median(theirs), 0)} ms`);
      }
      detail[`${count} at once`] = { claim: spread(own), 'plain Pod': spread(plain) };
      found.push({ ratio: median(own) / median(plain), own: median(own), plain: median(plain), n: own.length });
    }
    const worst = found.toSorted((one, another) => another.ratio - one.ratio)[0]!;
    return {
      value: worst.ratio,
      own: rounded(worst.own, 0),
      peer: { name: 'a plain Pod of the same image, until Ready', value: rounded(worst.plain, 0) },
      unit,
      n: found.reduce((sum, { n }) => sum + n, 0),
      at,
      detail,
    };
  } finally {
    for (const close of closing.toReversed()) await close();
  }
}

/** Milliseconds. */
const spread = (values: readonly number[]) => ({
  p50: rounded(median(values), 0),
  p95: rounded(quantile(values, 0.95), 0),
  max: rounded(Math.max(...values), 0),
});

/** Milliseconds from asking for a Pod until it is. */
async function ready({ core }: Cluster, namespace: string, name: string): Promise<number> {
  const image = process.env.GANTRY_COMPUTERS_IMAGE!;
  const began = performance.now();
  const container = { name: 'plain', image, imagePullPolicy: 'IfNotPresent', command: ['sleep', 'infinity'] };
  const spec = { containers: [container], terminationGracePeriodSeconds: 0 };
  await core.createNamespacedPod({ namespace, body: { metadata: { name }, spec } });
  for (;;) {
    const { status } = await core.readNamespacedPod({ namespace, name });
    if (status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True')) {
      return performance.now() - began;
    }
    await delay(looksEvery);
  }
}

/** Resolves once it is gone. */
async function remove({ core }: Cluster, namespace: string, name: string): Promise<void> {
  await core.deleteNamespacedPod({ namespace, name });
  for (;;) {
    try {
      await core.readNamespacedPod({ namespace, name });
    } catch (fault) {
      if (statusOf(fault) === 404) return;
      throw fault;
    }
    await delay(looksEvery);
  }
}
