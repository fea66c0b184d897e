/** Runs behind a real server with a real store; the gate and the planner are the test's. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Run, RunEvent } from '../../../../src/contracts/computer-use/run.ts';
import { type Clock, systemClock } from '../../../../src/kit/clock/clock.ts';
import { systemTimers, type Timers } from '../../../../src/kit/clock/timers.ts';
import { createDispatcher } from '../../../../src/kit/http/dispatcher.ts';
import { createIdempotency, idempotencyMigrations } from '../../../../src/kit/http/idempotency.ts';
import { createLinkAuthenticator, createOwnerAuthenticator } from '../../../../src/kit/http/principals.ts';
import { closeServer, createHttpServer, listenOnLoopback } from '../../../../src/kit/http/server.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import { shareStore } from '../../../../src/kit/store/share-store.ts';
import type { Store } from '../../../../src/kit/store/store.ts';
import type { ToolsetGate } from '../../../../src/runtime-server/computer-use/gate.ts';
import {
  type ComputerUse,
  createComputerUse,
  type Planner,
  runMigrations,
} from '../../../../src/runtime-server/computer-use/runs/index.ts';
import { modelMigrations } from '../../../../src/runtime-server/models/index.ts';
import { recordSpend } from '../../../../src/runtime-server/models/spend.ts';

export const ownerToken = 'owner-token-of-tests-0123456789abcdef';
export const linkToken = 'link-token-of-tests-0123456789abcdefg';

export interface RunServer {
  readonly url: string;
  readonly store: Store;
  readonly folder: string;
  readonly computerUse: ComputerUse;
  call<T = Record<string, unknown>>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: T }>;
  run(request: object): Promise<Run>;
  /** Once it is so. */
  until(runId: string, match: (run: Run) => boolean): Promise<Run>;
  events(runId: string): Promise<RunEvent[]>;
  stream(path: string, headers?: Record<string, string>): Promise<RunEvent[]>;
  close(): Promise<void>;
  /** As after kill −9: nothing is written any more. */
  abandon(): Promise<void>;
}

export interface RunServerOptions {
  readonly gate: ToolsetGate;
  readonly planner?: Planner;
  readonly clock?: Clock;
  readonly timers?: Timers;
  /** Of an earlier server. */
  readonly folder?: string;
  /** Millionths of a dollar a request; null: not known. */
  readonly price?: number | null;
}

const noPlanner: Planner = {
  find: () => ({ problem: { fact: 'No model is set for computer use.', action: 'Set computerUse.model.' } }),
  run: () => Promise.reject(new Error('There is no planner.')),
};

export async function startRunServer(options: RunServerOptions): Promise<RunServer> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'gantry-runs-'));
  const clock = options.clock ?? systemClock;
  const ids = createIds(systemClock);
  const store = await openStore({
    file: join(folder, 'runtime.db'),
    migrations: [...idempotencyMigrations, ...modelMigrations, ...runMigrations],
    clock,
    onFault: console.error,
  });
  const computerUse = createComputerUse({
    store,
    gate: options.gate,
    planner: options.planner ?? noPlanner,
    spent(tx, spend) {
      const microUsd = options.price === undefined ? 1000 : options.price;
      recordSpend(tx, { ...spend, microUsd });
      return microUsd;
    },
    clock,
    timers: options.timers ?? systemTimers,
    ids,
    log: { warn: (message, facts) => console.warn(message, facts) },
    folder: join(folder, 'computer-use'),
  });
  await computerUse.start();
  const dispatcher = createDispatcher({
    listener: { kind: 'tcp', origins: 'none' },
    authenticators: [createOwnerAuthenticator(ownerToken), createLinkAuthenticator(linkToken)],
    routes: computerUse.routes,
    owners: computerUse.owners,
    ids,
    log: console,
    idempotency: createIdempotency(shareStore(store), clock),
    answers: 'throw',
  });
  const server = createHttpServer((request, response) => void dispatcher.handle(request, response));
  const port = await listenOnLoopback(server, 0, '--port');
  const url = `http://127.0.0.1:${port}`;

  const call: RunServer['call'] = async (method, path, body, headers = {}) => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${ownerToken}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: (text === '' ? null : JSON.parse(text)) as never };
  };

  async function until(runId: string, match: (run: Run) => boolean): Promise<Run> {
    const deadline = Date.now() + 20_000;
    while (true) {
      const { body } = await call<Run>('GET', `/computer-use/runs/${runId}`);
      if (match(body)) return body;
      if (Date.now() > deadline) throw new Error(`It never came: ${JSON.stringify(body)}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  return {
    url,
    store,
    folder,
    computerUse,
    call,
    until,
    async run(request) {
      const { status, body } = await call<Run>('POST', '/computer-use/execute', request);
      if (status !== 202) throw new Error(`${status}: ${JSON.stringify(body)}`);
      return body;
    },
    async events(runId) {
      const { body } = await call<{ events: RunEvent[] }>('GET', `/runs/${runId}/events?limit=200`);
      return body.events;
    },
    async stream(path, headers = {}) {
      const response = await fetch(`${url}${path}`, { headers: { authorization: `Bearer ${ownerToken}`, ...headers } });
      const text = await response.text();
      return eventsIn(text);
    },
    async close() {
      dispatcher.close('over');
      await computerUse.close();
      await closeServer(server);
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
    async abandon() {
      dispatcher.close('over');
      await closeServer(server);
      await store.close();
    },
  };
}

/** Whole events of a stream, with their ids checked. */
export function eventsIn(text: string): RunEvent[] {
  const events: RunEvent[] = [];
  for (const block of text.split('\n\n')) {
    const lines = block.split('\n');
    const data = lines.find((line) => line.startsWith('data: '));
    if (data === undefined) continue;
    const event = JSON.parse(data.slice('data: '.length)) as RunEvent;
    if (lines.some((line) => line.startsWith('event: '))) throw new Error(`A named event: ${block}`);
    if (!lines.includes(`id: ${event.index}`)) throw new Error(`An event without its id: ${block}`);
    events.push(event);
  }
  return events;
}
