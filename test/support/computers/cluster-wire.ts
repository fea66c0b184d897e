/**
 * An API server of Kubernetes, as far as the driver of computers asks it: it keeps objects with their numbers, tells changes, and refuses as a real one
 * does. What becomes of Pods is what a real cluster said of them (test/data/kubernetes/pods.json; test/conformance/hosted-computers/kubernetes.test.ts
 * records it). An object that the API of 1.20 would not take is refused; a field that it does not know is left out, as it does.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { apis } from '../../deploy/kubernetes/schemas.ts';

interface Kept {
  readonly kind: string;
  metadata: {
    name: string;
    uid?: string;
    resourceVersion?: string;
    labels?: Record<string, string>;
    deletionTimestamp?: string;
    ownerReferences?: readonly { readonly uid: string }[];
  };
  spec?: Record<string, unknown>;
  status?: unknown;
  [more: string]: unknown;
}

/** A refusal, in the API's words. */
export interface Refusal {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
}

export interface Asked {
  readonly method: string;
  /** `pods`, or `pods/<name>`. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Kept | null;
}

/** What became of a Pod, one status after the other. */
export const recordedPods = JSON.parse(
  readFileSync(new URL('../../data/kubernetes/pods.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, readonly unknown[]>>;

const kinds: Readonly<Record<string, string>> = {
  configmaps: 'ConfigMap',
  pods: 'Pod',
  secrets: 'Secret',
  persistentvolumeclaims: 'PersistentVolumeClaim',
  events: 'Event',
};
const stepMs = 5;

export async function openClusterWire(namespace: string) {
  const objects = new Map<string, Kept>();
  const history: { readonly number: number; readonly key: string; readonly type: string; readonly object: Kept }[] = [];
  const followers = new Set<{
    readonly path: string;
    readonly matches: (one: Kept) => boolean;
    readonly answer: ServerResponse;
  }>();
  const asked: Asked[] = [];
  let number = 100;
  let oldest = 0;
  const settings = {
    /** Of the Pods that are made from now on: a key of {@link recordedPods}. */
    life: 'runs' as string,
    /** How many statuses of it come; then nothing changes any more, as while an image is pulled. */
    statuses: Number.POSITIVE_INFINITY,
    /** False: a Pod that is deleted stays, because nobody ends it. */
    nodesAnswer: true,
    refuse: (_asked: Asked): Refusal | null => null,
    /** What the cluster's own rules make of a Pod. */
    admit: (pod: Kept): Kept => pod,
  };

  function tell(type: string, key: string, object: Kept): void {
    number += 1;
    object.metadata.resourceVersion = String(number);
    const copy = structuredClone(object);
    history.push({ number, key, type, object: copy });
    for (const { path, matches, answer } of followers) {
      if (key.startsWith(`${path}/`) && matches(copy)) answer.write(`${JSON.stringify({ type, object: copy })}\n`);
    }
  }

  function keep(key: string, object: Kept): void {
    const type = objects.has(key) ? 'MODIFIED' : 'ADDED';
    objects.set(key, object);
    tell(type, key, object);
  }

  function drop(key: string): void {
    const object = objects.get(key);
    if (object === undefined) return;
    objects.delete(key);
    tell('DELETED', key, object);
    // As the cluster's collector of what has no owner.
    for (const [other, one] of objects) {
      if (one.metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid)) drop(other);
    }
  }

  /** The next statuses of a Pod, as the kubelet tells them. */
  function live(name: string, life: string): void {
    const key = `pods/${name}`;
    const statuses = recordedPods[life];
    if (statuses === undefined) throw new Error(`No Pod was recorded that ${life}.`);
    const next = ([status, ...rest]: readonly unknown[]) => {
      const pod = objects.get(key);
      if (pod === undefined || status === undefined) return;
      const { nodeName, ...of } = status as { readonly nodeName?: string };
      keep(key, { ...pod, spec: { ...pod.spec, ...(nodeName === undefined ? {} : { nodeName }) }, status: of });
      setTimeout(next, stepMs, rest);
    };
    setTimeout(next, stepMs, statuses.slice(0, settings.statuses));
  }

  const refusal = (code: number, reason: string, message: string): Refusal => ({ code, reason, message });

  function create(kind: string, body: Kept, isTrial: boolean): Kept | Refusal {
    const key = `${kind}/${body.metadata.name}`;
    if (objects.has(key)) return refusal(409, 'AlreadyExists', `${kind} "${body.metadata.name}" already exists`);
    const known = { apiVersion: 'v1', ...structuredClone(body), kind: kinds[kind]! };
    const isUnknown = apis.newest(known as never);
    // A field of later versions: 1.20 leaves it out.
    if (kind === 'pods') delete known.spec?.hostUsers;
    const faults = [...isUnknown, ...apis['1.20'](known as never)];
    if (faults.length > 0) return refusal(422, 'Invalid', faults.join('; '));
    const made = kind === 'pods' ? settings.admit(known) : known;
    made.metadata.uid = `uid-${number}-${body.metadata.name}`;
    if (isTrial) return made;
    keep(key, made);
    if (kind === 'pods') live(made.metadata.name, settings.life);
    return made;
  }

  function follow({ path, query }: Asked, answer: ServerResponse, matches: (one: Kept) => boolean): void {
    const since = Number(query.get('resourceVersion') ?? 0);
    answer.writeHead(200, { 'content-type': 'application/json' }).flushHeaders();
    if (since < oldest) {
      answer.end(`${JSON.stringify({ type: 'ERROR', object: { kind: 'Status', code: 410, reason: 'Expired' } })}\n`);
      return;
    }
    for (const { number: at, key, type, object } of history) {
      if (at > since && key.startsWith(`${path}/`) && matches(object))
        answer.write(`${JSON.stringify({ type, object })}\n`);
    }
    const follower = { path, matches, answer };
    followers.add(follower);
    answer.on('close', () => followers.delete(follower));
  }

  function answerTo(question: Asked, answer: ServerResponse): Kept | Refusal | null {
    const { method, path, query, body } = question;
    const refused = settings.refuse(question);
    if (refused !== null) return refused;
    const [kind = '', name] = path.split('/');
    const found = name === undefined ? undefined : objects.get(path);
    if (method === 'POST') return create(kind, body!, query.get('dryRun') === 'All');
    if (name === undefined) {
      const wanted = (query.get('labelSelector') ?? '')
        .split(',')
        .filter(Boolean)
        .map((one) => one.split('='));
      const matches = ({ metadata: { labels = {} } }: Kept) =>
        wanted.every(([label = '', value]) => (value === undefined ? label in labels : labels[label] === value));
      if (query.get('watch') === 'true') {
        if (!/^\d*$/.test(query.get('resourceVersion') ?? ''))
          return refusal(400, 'BadRequest', 'invalid resource version');
        follow(question, answer, matches);
        return null;
      }
      const items = [...objects].flatMap(([key, one]) => (key.startsWith(`${kind}/`) && matches(one) ? [one] : []));
      return { kind: `${kinds[kind]}List`, metadata: { name: '', resourceVersion: String(number) }, items };
    }
    if (found === undefined) return refusal(404, 'NotFound', `${kind} "${name}" not found`);
    if (method === 'GET') return found;
    if (method === 'PUT') {
      if (body!.metadata.resourceVersion !== found.metadata.resourceVersion) {
        return refusal(
          409,
          'Conflict',
          `Operation cannot be fulfilled on ${kind} "${name}": the object has been modified`,
        );
      }
      keep(path, { ...found, ...body!, metadata: { ...found.metadata, ...body!.metadata } });
      return objects.get(path)!;
    }
    if (kind === 'pods' && query.get('gracePeriodSeconds') !== '0') {
      if (found.metadata.deletionTimestamp === undefined) {
        keep(path, { ...found, metadata: { ...found.metadata, deletionTimestamp: new Date().toISOString() } });
        if (settings.nodesAnswer) setTimeout(drop, stepMs, path);
      }
      return found;
    }
    drop(path);
    return found;
  }

  async function take(request: IncomingMessage, answer: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://localhost');
    const said = await text(request);
    const mount = `/api/v1/namespaces/${namespace}/`;
    const path = url.pathname.startsWith(mount) ? url.pathname.slice(mount.length) : url.pathname;
    const question = {
      method: request.method ?? '',
      path,
      query: url.searchParams,
      body: said === '' ? null : (JSON.parse(said) as Kept),
    };
    asked.push(question);
    const given = answerTo(question, answer);
    if (given === null) return;
    const isRefusal = 'code' in given;
    const body = isRefusal ? { kind: 'Status', apiVersion: 'v1', status: 'Failure', ...given } : given;
    answer.writeHead(isRefusal ? Number(given.code) : 200, { 'content-type': 'application/json' });
    answer.end(JSON.stringify(body));
  }

  const server = createServer((request, answer) => void take(request, answer));
  let port = 0;
  const listen = () =>
    new Promise<void>((resolve) =>
      server.listen(port, '127.0.0.1', () => {
        ({ port } = server.address() as AddressInfo);
        resolve();
      }),
    );
  await listen();
  const folder = mkdtempSync(join(tmpdir(), 'gantry-cluster-'));
  const kubeconfig = join(folder, 'config');
  const named = {
    clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${port}`, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'a', user: {} }],
  };
  const contexts = [{ name: 'a', context: { cluster: 'a', user: 'a', namespace } }];
  writeFileSync(
    kubeconfig,
    JSON.stringify({ apiVersion: 'v1', kind: 'Config', ...named, contexts, 'current-context': 'a' }),
  );
  const leave = () => {
    server.close();
    server.closeAllConnections();
  };
  return {
    kubeconfig,
    settings,
    asked,
    objects,
    /** Of each kind, the names. */
    names: (kind: string) =>
      [...objects.keys()].flatMap((key) => (key.startsWith(`${kind}/`) ? [key.slice(kind.length + 1)] : [])),
    /** Its next statuses, for all Pods of this computer. */
    become(computer: string, life: string) {
      for (const [key, { metadata }] of objects) {
        if (key.startsWith('pods/') && metadata.labels?.['gantry.dev/computer'] === computer) live(metadata.name, life);
      }
    },
    /** The cluster gives a Pod up, because its node does not answer. */
    evict(name: string) {
      const pod = objects.get(`pods/${name}`)!;
      keep(`pods/${name}`, { ...pod, metadata: { ...pod.metadata, deletionTimestamp: new Date().toISOString() } });
    },
    /** Somebody deletes it with the cluster's own means. */
    drop,
    put: keep,
    /** Ends all streams, as a server that is started again. */
    cut() {
      for (const { answer } of followers) answer.destroy();
    },
    /** What happened until now is not told any more. */
    forget() {
      oldest = number + 1;
      number += 1;
    },
    leave,
    back: listen,
    close() {
      leave();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export type ClusterWire = Awaited<ReturnType<typeof openClusterWire>>;
