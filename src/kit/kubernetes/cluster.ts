/**
 * A Kubernetes cluster by its API: where it is, as whom it is asked, and what its refusals say. First users: the driver of hosted computers, and
 * workers that run tasks as Jobs. Must not know what is run in the cluster.
 */
import type { BatchV1Api, CoreV1Api } from '@kubernetes/client-node';

export interface Cluster {
  readonly core: CoreV1Api;
  readonly batch: BatchV1Api;
  /** Of the account that asks; null: the settings of the cluster name none. */
  readonly namespace: string | null;
  /**
   * Follows changes below a path such as `/api/v1/namespaces/a/pods`. Resolves when the API server ends the stream or it is cut, and rejects where it
   * could not begin. `told` gets each object as the API writes it.
   */
  watch(
    path: string,
    query: Readonly<Record<string, string | boolean>>,
    told: (type: string, object: unknown) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

/** Milliseconds: for one answer, also from an API server under load. */
const answersWithin = 30_000;
/** A connection is made again after this time, so that renewed client certificates are used. */
const connectionFor = 600_000;
/** A stream on which nothing came for so long is taken for dead; the API server sends a bookmark each minute. */
const silentFor = 120_000;

/**
 * `kubeconfig`: the file that says where the cluster is; null: the one in which this process runs. Asks nothing yet. The library is loaded here,
 * because hardly any Gantry has a cluster, and it takes a second and 85 MB.
 */
export async function openCluster({ kubeconfig }: { readonly kubeconfig: string | null }): Promise<Cluster> {
  const { BatchV1Api, CoreV1Api, createConfiguration, KubeConfig, ServerConfiguration, Watch } = await import(
    '@kubernetes/client-node'
  );
  const config = new KubeConfig();
  if (kubeconfig === null) config.loadFromCluster();
  else config.loadFromFile(kubeconfig);
  const cluster = config.getCurrentCluster();
  if (cluster === null) throw new Error(`${kubeconfig} names no current context with a cluster.`);
  type Context = Parameters<typeof config.applySecurityAuthentication>[0];
  let kept: { readonly at: number; readonly dispatcher: ReturnType<Context['getDispatcher']> } | null = null;

  /** As the library does, which would make a connection with its own TLS handshake for each question. */
  async function authenticate(context: Context): Promise<void> {
    await config.applySecurityAuthentication(context);
    const made = context.getDispatcher();
    if (made === undefined) return;
    if (kept === null || performance.now() - kept.at > connectionFor)
      kept = { at: performance.now(), dispatcher: made };
    else context.setDispatcher(kept.dispatcher!);
  }

  const asks = createConfiguration({
    baseServer: new ServerConfiguration(cluster.server, {}),
    authMethods: {
      default: {
        getName: () => 'cluster',
        async applySecurityAuthentication(context) {
          await authenticate(context);
          context.setSignal(AbortSignal.timeout(answersWithin));
        },
      },
    },
  });
  const follows = new Watch({
    getCurrentCluster: () => cluster,
    applySecurityAuthentication: authenticate,
  } as unknown as InstanceType<typeof KubeConfig>);
  // Its own is shorter than the time between two bookmarks.
  Object.assign(follows, { requestTimeoutMs: silentFor });
  return {
    core: new CoreV1Api(asks),
    batch: new BatchV1Api(asks),
    namespace: config.getContextObject(config.getCurrentContext())?.namespace ?? null,
    watch(path, query, told, signal) {
      return new Promise((resolve, reject) => {
        let begun = false;
        const heard = (type: string, object: unknown) => {
          begun = true;
          if (!signal.aborted) told(type, object);
        };
        const ended = (fault: unknown) => {
          if (begun || fault === null || fault === undefined || statusOf(fault) === null) resolve();
          else reject(fault as Error);
        };
        follows.watch(path, { ...query, allowWatchBookmarks: true }, heard, ended).then((stream) => {
          if (signal.aborted) stream.abort();
          else signal.addEventListener('abort', () => stream.abort(), { once: true });
        }, reject);
      });
    },
  };
}

/** The status of an API server's answer; null: it did not answer. */
export function statusOf(fault: unknown): number | null {
  const { code, statusCode } = fault as { readonly code?: unknown; readonly statusCode?: unknown };
  const status = statusCode ?? code;
  return typeof status === 'number' ? status : null;
}

/** What an API server says of a refusal, in its own words; empty: nothing. */
export function saidBy(fault: unknown): string {
  const { body } = fault as { readonly body?: unknown };
  try {
    const { message } = (typeof body === 'string' ? JSON.parse(body) : (body ?? {})) as { readonly message?: unknown };
    return typeof message === 'string' ? message : '';
  } catch {
    return String(body).slice(0, 400);
  }
}

/** Whether the account that asked lacks the right: an administrator took it away, or never gave it. Quotas and admission refuse with 403, too. */
export const lacksRight = (fault: unknown): boolean =>
  statusOf(fault) === 401 || (statusOf(fault) === 403 && / cannot \w+ resource /.test(saidBy(fault)));

/** What an API server answered, or why it did not, as a sentence. */
export function clusterWords(fault: unknown): string {
  const status = statusOf(fault);
  if (status === 401) return 'The cluster does not know the account of this Gantry any more: renew its token.';
  if (status !== null) {
    const said = saidBy(fault).trim().replace(/\.$/, '') || `status ${status}`;
    return lacksRight(fault)
      ? `The cluster refuses this Gantry a right that it needs: ${said}.`
      : `The cluster answered: ${said}.`;
  }
  const { message, name, cause } = fault as Error & { readonly cause?: { readonly code?: string; message?: string } };
  if (name === 'TimeoutError') return `The API server of the cluster did not answer within ${answersWithin / 1000} s.`;
  return `The API server of the cluster cannot be reached: ${cause?.code ?? cause?.message ?? message}.`;
}
