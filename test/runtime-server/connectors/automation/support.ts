/**
 * Automation on a whole engine: real bots, tickets, desk and database, a model that is a script, schemas checked in their thread, and a
 * clock of automation's own that a test moves. Its routes answer over HTTP.
 */
import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, vi } from 'vitest';
import type { AppError } from '../../../../src/contracts/common/errors.ts';
import { connectorMounts } from '../../../../src/contracts/connectors/mount.ts';
import type { Job, JobEvent, JobStatus, Rule } from '../../../../src/contracts/connectors/rule.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { createDispatcher } from '../../../../src/kit/http/dispatcher.ts';
import { createIdempotency } from '../../../../src/kit/http/idempotency.ts';
import { createOwnerAuthenticator } from '../../../../src/kit/http/principals.ts';
import { closeServer, createHttpServer, listenOnLoopback } from '../../../../src/kit/http/server.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createSchemaChecker } from '../../../../src/kit/schemas/checker.ts';
import { shareStore } from '../../../../src/kit/store/share-store.ts';
import { type AutomationArea, createAutomation } from '../../../../src/runtime-server/connectors/automation/index.ts';
import type {
  FactoryPort,
  SubscriptionLookup,
  SubscriptionRef,
} from '../../../../src/runtime-server/connectors/ports.ts';
import { createTestClock, type TestClock } from '../../../support/test-clock.ts';
import { type Answer, ownerToken } from '../../engine.ts';
import type { Floor } from '../../hosted-bots/support.ts';

export const waits = { timeout: 20_000, interval: 10 };
export const connectorId = 'server_tracker';

export interface Automated {
  readonly clock: TestClock;
  readonly area: AutomationArea;
  /** A subscription of this bot. */
  subscribe(botId: string, executionMode?: string): SubscriptionRef;
  /** What the door of events does with one. Answers its ticket. */
  event(subscription: SubscriptionRef, data: unknown, eventId?: string): Promise<string>;
  end(subscription: SubscriptionRef): Promise<void>;
  /** Its server offers the event no more. */
  unadvertise(subscription: SubscriptionRef, why: AppError): void;
  /** Below the subscription, at the first mount. */
  call<T = { error: string; message: string }>(
    method: string,
    subscription: SubscriptionRef,
    path: string,
    body?: unknown,
    mount?: string,
  ): Promise<Answer<T>>;
  /** Where a run belongs. */
  find(jobId: string): Promise<Answer<{ connectorId: string; subscriptionId: string }>>;
  rule(subscription: SubscriptionRef, body: Record<string, unknown>): Promise<Rule>;
  jobs(subscription: SubscriptionRef, query?: string): Promise<Job[]>;
  job(subscription: SubscriptionRef, id: string): Promise<Job>;
  moves(subscription: SubscriptionRef, id: string): Promise<JobEvent[]>;
  /** The newest job, once it is so. */
  until(subscription: SubscriptionRef, status: JobStatus, reason?: string): Promise<Job>;
  /** As a runtime that ends and begins again on the same data. */
  restart(): Promise<void>;
}

export async function automate(
  floor: Floor,
  options: { factory?: Partial<FactoryPort>; onEnd?: (end: () => Promise<void>) => void } = {},
): Promise<Automated> {
  const { engine } = floor;
  const clock = createTestClock(Date.now());
  const ids = createIds(clock);
  const schemas = createSchemaChecker({ timers: systemTimers });
  const live = new Map<string, SubscriptionRef>();
  const ended = new Map<string, SubscriptionRef>();
  const unadvertised = new Map<string, AppError>();
  const log = { info() {}, warn() {}, error: console.error };
  const subscriptions: SubscriptionLookup = {
    live: (_, connector, id) => (connector === connectorId ? (live.get(id) ?? null) : null),
    known: (_, connector, id) => connector === connectorId && (live.has(id) || ended.has(id)),
    async advertised(_, id) {
      const why = unadvertised.get(id);
      if (why !== undefined) throw why;
    },
    connectorOf: (_, id) => (live.has(id) || ended.has(id) ? connectorId : null),
  };
  const make = () =>
    createAutomation({
      ...engine.factory.connectors,
      ...options.factory,
      store: engine.store,
      ledger: engine.ledger,
      clock,
      timers: clock,
      ids,
      log,
      schemas,
      approvals: engine.approvals,
      connector: (id) => id === connectorId,
    });
  let area = make();
  await area.start();

  const serve = async () => {
    const dispatcher = createDispatcher({
      listener: { kind: 'tcp', origins: 'none' },
      authenticators: [createOwnerAuthenticator(ownerToken)],
      routes: area.routes(subscriptions),
      owners: {},
      ids,
      log,
      idempotency: createIdempotency(shareStore(engine.store), clock),
      answers: 'throw',
      shape: 'plain',
    });
    const server = createHttpServer((request, response) => void dispatcher.handle(request, response));
    const port = await listenOnLoopback(server, 0, '--engine-port');
    const close = () => {
      dispatcher.close('The test ends.');
      return closeServer(server);
    };
    return { url: `http://127.0.0.1:${port}`, close };
  };
  let server = await serve();
  (options.onEnd ?? onTestFinished)(async () => {
    await server.close();
    await area.close();
    await schemas.close();
  });

  const automated: Automated = {
    clock,
    get area() {
      return area;
    },
    subscribe(botId, executionMode = 'REQUIRE_APPROVAL') {
      const id = `sub_${randomUUID().replaceAll('-', '').slice(0, 24)}`;
      const subscription = { id, connectorId, name: 'issue.opened', botId, executionMode };
      live.set(id, subscription);
      return subscription;
    },
    async event(subscription, data, eventId = `evt_${randomUUID()}`) {
      const rules = await area.matching(subscription.id, data);
      const { id: subscriptionId, botId } = subscription;
      return engine.store.write((tx) => {
        const at = clock.now();
        const ref = `${subscriptionId}/${eventId}`;
        const ticket = engine.factory.connectors.tickets.open(tx, { botId, ref, title: 'An event', data, at });
        if (ticket.opened) area.take(tx, { subscription, eventId, ticketId: ticket.id, data, at }, rules);
        return ticket.id;
      });
    },
    async end(subscription) {
      await engine.store.write((tx) => area.ended(tx, subscription.id));
      live.delete(subscription.id);
      ended.set(subscription.id, subscription);
    },
    unadvertise: ({ id }, why) => void unadvertised.set(id, why),
    async find(jobId) {
      const headers = { authorization: `Bearer ${ownerToken}` };
      const response = await fetch(`${server.url}${connectorMounts[1]}/runs/${jobId}`, { headers });
      return { status: response.status, body: await response.json() };
    },
    async call(method, subscription, path, body, mount = connectorMounts[0]) {
      const base = `${mount}/${subscription.connectorId}/events/subscriptions/${subscription.id}`;
      const response = await fetch(`${server.url}${base}${path}`, {
        method,
        headers: {
          authorization: `Bearer ${ownerToken}`,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return { status: response.status, body: text === '' ? null : JSON.parse(text) };
    },
    async rule(subscription, body) {
      const made = await automated.call<Rule>('POST', subscription, '/rules', {
        instructions: 'Look into it.',
        ...body,
      });
      expect(made.status, JSON.stringify(made.body)).toBe(201);
      return made.body;
    },
    async jobs(subscription, query = '') {
      const read = await automated.call<{ runs: Job[] }>('GET', subscription, `/runs${query}`);
      expect(read.status, JSON.stringify(read.body)).toBe(200);
      return read.body.runs;
    },
    job: async (subscription, id) => (await automated.call<Job>('GET', subscription, `/runs/${id}`)).body,
    moves: async (subscription, id) =>
      (await automated.call<{ events: JobEvent[] }>('GET', subscription, `/runs/${id}/events`)).body.events,
    until: (subscription, status, reason = '') =>
      vi.waitFor(async () => {
        const [job] = await automated.jobs(subscription);
        expect(job?.status, JSON.stringify(job)).toBe(status);
        expect(job?.reason ?? '').toContain(reason);
        return automated.job(subscription, (job as Job).id);
      }, waits),
    async restart() {
      await server.close();
      await area.close();
      area = make();
      await area.start();
      server = await serve();
    },
  };
  return automated;
}
