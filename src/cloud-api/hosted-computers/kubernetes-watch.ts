/**
 * Changes of a cluster's computers, as the driver kubernetes tells them: each change of a record is one change of its computer's state, and the API
 * server numbers them, so a watch continues after any of them that it still has. While somebody watches, Pods are followed, too, so that what happens
 * to one is written into its record. Must not know how a computer is made.
 */
import type { V1ConfigMap, V1Pod } from '@kubernetes/client-node';
import type { Clock } from '../../kit/clock/clock.ts';
import type { Timers } from '../../kit/clock/timers.ts';
import { type Cluster, statusOf } from '../../kit/kubernetes/cluster.ts';
import type { DriverWatcher, HostedDriver } from './driver.ts';
import { labels, readRecord } from './kubernetes-spec.ts';

/** How long after a cut a watch connects again, ms; twice as long after each try, because the API server may be away. */
const reconnectMs = { first: 250, longest: 15_000 };
/** The API server no longer has what came after that number. */
const gone = 410;

export function createKubernetesWatch({
  cluster,
  namespace,
  installation,
  settle,
  settleAll,
  clock,
  timers,
}: {
  readonly cluster: () => Promise<Cluster>;
  readonly namespace: string;
  readonly installation: string;
  /** Writes into the computer's record what became of its Pod. */
  readonly settle: (computer: string) => Promise<unknown>;
  readonly settleAll: () => Promise<unknown>;
  readonly clock: Pick<Clock, 'now'>;
  readonly timers: Timers;
}) {
  const labelSelector = `${labels.installation}=${installation},${labels.computer}`;
  const path = (kind: string) => `/api/v1/namespaces/${namespace}/${kind}`;

  /** Follows again after each end, until it is stopped. */
  function again(follow: (signal: AbortSignal, held: () => void) => Promise<void>): () => void {
    const closing = new AbortController();
    let waitMs = reconnectMs.first;
    let cancel = () => {};
    function connect(): void {
      const held = () => {
        waitMs = reconnectMs.first;
      };
      follow(closing.signal, held)
        .catch(() => {})
        .finally(() => {
          if (closing.signal.aborted) return;
          cancel = timers.after(waitMs, connect);
          waitMs = Math.min(waitMs * 2, reconnectMs.longest);
        });
    }
    connect();
    return () => {
      closing.abort();
      cancel();
    };
  }

  let watching = 0;
  let stopPods = () => {};

  /** From now on, after all have been compared: what happened while nobody followed is found so. */
  async function followPods(signal: AbortSignal, held: () => void): Promise<void> {
    const { core, watch } = await cluster();
    const { metadata } = await core.listNamespacedPod({ namespace, labelSelector, limit: 1 });
    await settleAll();
    if (signal.aborted) return;
    held();
    const query = { labelSelector, resourceVersion: metadata?.resourceVersion ?? '' };
    await watch(
      path('pods'),
      query,
      (type, object) => {
        const computer = (object as V1Pod).metadata?.labels?.[labels.computer];
        if (type !== 'BOOKMARK' && computer !== undefined) void settle(computer).catch(() => {});
      },
      signal,
    );
  }

  function begin(): () => void {
    watching += 1;
    if (watching === 1) stopPods = again(followPods);
    return () => {
      watching -= 1;
      if (watching === 0) stopPods();
    };
  }

  const watch: HostedDriver['watch'] = (since, watcher: DriverWatcher) => {
    let last = since;
    let joined = since !== null;
    const endPods = begin();

    async function follow(signal: AbortSignal, held: () => void): Promise<void> {
      const { core, watch: follows } = await cluster();
      if (last !== null && !/^\d+$/.test(last)) last = null;
      if (last === null) {
        const { metadata } = await core.listNamespacedConfigMap({ namespace, labelSelector, limit: 1 });
        if (signal.aborted) return;
        last = metadata?.resourceVersion ?? null;
        if (joined) watcher.missed();
        joined = true;
      }
      const query = { labelSelector, resourceVersion: last ?? '' };
      const lost = () => {
        last = null;
      };
      const heard = (type: string, object: unknown) => {
        if (type === 'ERROR') {
          if ((object as { readonly code?: number }).code === gone) lost();
          return;
        }
        held();
        const config = object as V1ConfigMap;
        const cursor = config.metadata?.resourceVersion;
        if (cursor === undefined) return;
        last = cursor;
        const record = type === 'BOOKMARK' || type === 'ADDED' ? null : readRecord(config);
        if (record === null) return;
        const { state, why, since: at, spec } = record;
        // The end of its record follows.
        const { computer } = spec;
        if (type !== 'DELETED') watcher.changed({ computer, state, why, at, cursor });
        else if (state !== 'gone') watcher.changed({ computer, state: 'gone', why: null, at: clock.now(), cursor });
      };
      await follows(path('configmaps'), query, heard, signal).catch((fault: unknown) => {
        // A number that it never had is refused as a bad request.
        if ([400, gone].includes(statusOf(fault) ?? 0)) lost();
        throw fault;
      });
    }
    const end = again(follow);
    return () => {
      end();
      endPods();
    };
  };
  return { watch };
}
