/**
 * An API server for the Jobs of tasks, that answers with the states of Pods that a real one was recorded to have (test/data/kubernetes/task-pods.json),
 * the next one each time a Job's Pods are listed. Owns what there is and what was asked; must not know what asks.
 */
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';
import recorded from '../data/kubernetes/task-pods.json' with { type: 'json' };
import { scratchFolder } from './scratch.ts';

interface Pod {
  readonly metadata: { readonly uid: string; readonly deletionTimestamp?: string };
  readonly status: { readonly phase: string };
}
interface Job {
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> };
  readonly status?: unknown;
  readonly [field: string]: unknown;
}
/** `create jobs`, `get pods/log`: a verb and a resource, as rights name them. */
type Call = string;

export type Case = keyof typeof recorded.cases;

export async function startStandInCluster(which: Case) {
  const namespace = 'tasks';
  const states = recorded.cases[which] as unknown as readonly Pod[];
  const jobs = new Map<string, Job>();
  const removed: string[] = [];
  const asked: { readonly call: Call; readonly body?: unknown; readonly url: string }[] = [];
  let at = -1;
  let holds: string | null = null;
  let refuses: (call: Call) => { readonly status: number; readonly message: string } | 'cut' | null = () => null;
  let log = '';
  let date: string | null = null;
  let makesPods = true;
  const events: object[] = [];

  /** Pods are those of the moment: the recording has one state of one Pod after the other. */
  function podsNow(): readonly Pod[] {
    if (at + 1 < states.length && (holds === null || states[at]?.status.phase !== holds)) at += 1;
    const now = states[Math.max(0, at)]!;
    return [now];
  }
  const labelled = (selector: string) => {
    const [name = '', value = ''] = selector.split('=');
    return [...jobs.values()].filter(({ metadata }) => metadata.labels[name] === value);
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://cluster');
    const selector = url.searchParams.get('labelSelector') ?? '';
    const [, group, resource = '', name = '', part] =
      new RegExp(`^/(apis/batch/v1|api/v1)/namespaces/${namespace}/(\\w+)(?:/([^/]+))?(?:/(\\w+))?$`).exec(
        url.pathname,
      ) ?? [];
    const method = request.method ?? '';
    const verbs: Readonly<Record<string, string>> = { POST: 'create', DELETE: 'delete' };
    const isWatch = url.searchParams.get('watch') === 'true';
    const verb = verbs[method] ?? (isWatch ? 'watch' : name === '' ? 'list' : 'get');
    const call = `${verb} ${part === undefined ? resource : `${resource}/${part}`}`;
    const body = method === 'POST' ? await json(request) : undefined;
    asked.push({ call, body, url: url.pathname + url.search });
    const send = (status: number, what: unknown) => {
      response.writeHead(status, { 'content-type': 'application/json', ...(date === null ? {} : { date }) });
      response.end(JSON.stringify(what));
    };
    const refused = refuses(call);
    if (refused === 'cut') return void request.socket.destroy();
    if (refused !== null) return send(refused.status, { kind: 'Status', ...refused, code: refused.status });
    if (group === undefined) return send(404, { kind: 'Status', message: `${url.pathname} is not here`, code: 404 });
    if (call === 'create jobs') {
      const job = body as Job;
      if (jobs.has(job.metadata.name)) return send(409, { kind: 'Status', message: 'already exists', code: 409 });
      jobs.set(job.metadata.name, job);
      return send(201, job);
    }
    if (call === 'list jobs') return send(200, { kind: 'JobList', metadata: {}, items: labelled(selector) });
    if (call === 'delete jobs') {
      if (!jobs.delete(name)) return send(404, { kind: 'Status', message: 'not found', code: 404 });
      removed.push(name);
      return send(200, { kind: 'Status', status: 'Success' });
    }
    if (call === 'list pods') {
      const job = selector.replace(/^job-name=/, '');
      return send(200, {
        kind: 'PodList',
        metadata: { resourceVersion: '1' },
        items: makesPods && jobs.has(job) ? podsNow() : [],
      });
    }
    if (call === 'get pods/log') {
      response.writeHead(200, { 'content-type': 'text/plain' });
      const tail = url.searchParams.has('tailLines') ? log.slice(-8000) : log;
      return void response.end(tail.slice(0, Number(url.searchParams.get('limitBytes') ?? log.length)));
    }
    if (call === 'watch pods') {
      response.writeHead(200, { 'content-type': 'application/json' });
      return void response.end();
    }
    if (call === 'list events') return send(200, { kind: 'EventList', metadata: {}, items: events });
    send(403, { kind: 'Status', message: `nobody may ${call}`, code: 403 });
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const kubeconfig = join(scratchFolder(), 'kubeconfig');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const named = (name: string, more: object) => [{ name, ...more }];
  writeFileSync(
    kubeconfig,
    JSON.stringify({
      ...{ apiVersion: 'v1', kind: 'Config', 'current-context': 'it' },
      ...{
        clusters: named('it', { cluster: { server: url, 'insecure-skip-tls-verify': true } }),
        users: named('it', { user: { token: 'a token' } }),
      },
      contexts: named('it', { context: { cluster: 'it', user: 'it' } }),
    }),
  );
  return {
    kubeconfig,
    namespace,
    asked,
    /** Names of Jobs, in the order of their removal. */
    removed,
    jobs,
    calls: () => [...new Set(asked.map(({ call }) => call))],
    /** Pods stay in this phase once they are in it. */
    hold(phase: string | null) {
      holds = phase;
    },
    refuse(how: typeof refuses) {
      refuses = how;
    },
    /** Its own clock, milliseconds since 1970. */
    setClock(now: number) {
      date = new Date(now).toUTCString();
    },
    /** As where a quota is used up. */
    makeNoPods() {
      makesPods = false;
    },
    tellEvent(message: string) {
      events.push({ type: 'Normal', message, lastTimestamp: new Date(events.length).toISOString() });
    },
    write(text: string) {
      log = text;
    },
  };
}

export type StandInCluster = Awaited<ReturnType<typeof startStandInCluster>>;
