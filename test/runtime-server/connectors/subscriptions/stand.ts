/**
 * Subscriptions over a real database and ledger, with a server of events on HTTP behind the port of connectors. The cloud is what it
 * answers to a registration and to a removal, and it keeps what it was told.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, vi } from 'vitest';
import { AppError } from '../../../../src/contracts/common/errors.ts';
import type {
  ConnectorEvents,
  EventDefinition,
  Subscribe,
  Subscription,
  TrailEvent,
} from '../../../../src/contracts/connectors/subscription.ts';
import { systemTimers } from '../../../../src/kit/clock/timers.ts';
import { createIds } from '../../../../src/kit/ids/ids.ts';
import { createLedger } from '../../../../src/kit/ledger/create-ledger.ts';
import { ledgerMigrations } from '../../../../src/kit/ledger/migrations.ts';
import { createSchemaChecker } from '../../../../src/kit/schemas/checker.ts';
import { createSealer } from '../../../../src/kit/secrets/sealer.ts';
import { newWebhookSecret } from '../../../../src/kit/signing/webhook.ts';
import { openStore } from '../../../../src/kit/store/open-store.ts';
import type { AutomationPort, ConnectorRef, TakenEvent } from '../../../../src/runtime-server/connectors/ports.ts';
import {
  createSubscriptions,
  subscriptionMigrations,
} from '../../../../src/runtime-server/connectors/subscriptions/index.ts';
import type { EnginePartDeps } from '../../../../src/runtime-server/parties/part.ts';
import { createConnectorTickets } from '../../../../src/runtime-server/tickets/connector-tickets.ts';
import { createTickets } from '../../../../src/runtime-server/tickets/tickets.ts';
import { workEngineMigrations } from '../../../../src/runtime-server/work-engine/migrations.ts';
import { createTestClock } from '../../../support/test-clock.ts';
import { type EventsServer, startEventsServer } from './events-server.ts';

/** A machine that is busy with other tests is no reason to fail. */
export const soon = <T>(look: () => T | Promise<T>) => vi.waitFor(look, { timeout: 20_000, interval: 5 });

export const ownerId = 'user_local';
export const bot = { id: 'agent_1', name: 'Nia' };

export interface CloudCall {
  readonly method: string;
  readonly id: string;
  readonly body: { readonly secret?: string; readonly connectorId?: string; readonly eventName?: string } | undefined;
}

/** The home cloud: two secrets a subscription, and how it answers. */
function createCloud() {
  const calls: CloudCall[] = [];
  const secrets = new Map<string, string[]>();
  const cloud = {
    calls,
    secrets,
    at: 'home_1',
    url: 'http://127.0.0.1:3010' as string | null,
    status: 200,
    refusal: null as { readonly error: string } | null,
    away: false,
    name: () => cloud.at,
    async call({ method, path, body }: { method: string; path: string; body: unknown }) {
      if (cloud.away) throw new Error('nobody listens');
      const id = path.split('/').at(-1) ?? '';
      calls.push({ method, id, body: body as CloudCall['body'] });
      if (cloud.status !== 200) return { status: cloud.status, body: cloud.refusal };
      if (method === 'DELETE') {
        secrets.delete(id);
        return { status: 204, body: null };
      }
      const { secret = '' } = (body ?? {}) as { secret?: string };
      const before = secrets.get(id) ?? [];
      if (before[0] !== secret) secrets.set(id, [secret, ...before].slice(0, 2));
      return { status: 200, body: { callbackUrl: `${cloud.url}/mcp/events/callback/key-of-${cloud.at}-${id}` } };
    },
  };
  return cloud;
}

/** Rules that want everything, while a test says so. */
function createRules() {
  const rules = {
    refuses: null as AppError | null,
    wanted: [] as string[],
    saved: [] as string[],
    taken: [] as TakenEvent[],
    ended: [] as string[],
    withRuns: new Set<string>(),
    breaks: false,
  };
  const port: AutomationPort = {
    async checkDefault() {
      if (rules.refuses !== null) throw rules.refuses;
    },
    saveDefault: (tx, subscription) => tx.afterCommit(() => void rules.saved.push(subscription.id)),
    matching: async () => rules.wanted,
    take(tx, event, wanted) {
      if (rules.breaks) throw new Error('no rule today');
      if (wanted.length > 0) tx.afterCommit(() => void rules.taken.push(event));
    },
    runsOf: (_, __, ids) =>
      new Map(ids.map((id) => [id, [{ id: `job_${id}`, ruleId: 'r1', status: 'queued' as const, at: 0 }]])),
    withRuns: (_, ids) => new Set(ids.filter((id) => rules.withRuns.has(id))),
    ended: (tx, id) => tx.afterCommit(() => void rules.ended.push(id)),
  };
  return { ...rules, rules, port };
}

export async function openStand(folder: string) {
  const clock = createTestClock();
  const ids = createIds(clock);
  const server = await startEventsServer(clock.now);
  const cloud = createCloud();
  const { rules, port: automation } = createRules();
  const connectors = new Map<string, ConnectorRef & { server: EventsServer }>();
  const listeners = {
    lost: new Set<(id: string) => void>(),
    back: new Set<(id: string) => void>(),
    gone: new Set<(ref: ConnectorRef) => void>(),
  };
  const listen = <T>(set: Set<T>, one: T) => {
    set.add(one);
    return () => set.delete(one);
  };
  const emitted: { type: string; id: string; data: Record<string, unknown> }[] = [];
  const told: { bot: string; text: string; key: string }[] = [];
  const warned: string[] = [];
  const schemas = createSchemaChecker({ timers: systemTimers });

  const asking = (id: string) => connectors.get(id)?.server ?? server;
  const servers = {
    find: (id: string) => {
      const one = connectors.get(id);
      return one === undefined ? null : { id: one.id, name: one.name, url: one.url, enabled: one.enabled };
    },
    async events(id: string, signal: AbortSignal) {
      const { events } = (await asking(id).ask('events/list', {}, signal)) as { events: EventDefinition[] | null };
      return events;
    },
    ask: (id: string, method: string, params: unknown, signal: AbortSignal) => asking(id).ask(method, params, signal),
    onLost: (one: (id: string) => void) => listen(listeners.lost, one),
    onBack: (one: (id: string) => void) => listen(listeners.back, one),
    onGone: (one: (ref: ConnectorRef) => void) => listen(listeners.gone, one),
  };

  async function open() {
    const store = await openStore({
      file: `${folder}/runtime.db`,
      migrations: [...ledgerMigrations, ...workEngineMigrations, ...subscriptionMigrations],
      clock,
    });
    const ledger = await createLedger({ store, clock, ids });
    const tickets = createTickets({ store, ledger, workspace: '/w' } as unknown as EnginePartDeps).writer;
    const subscriptions = createSubscriptions({
      store,
      ledger,
      clock,
      timers: clock,
      ids,
      log: {
        warn: (message) => void warned.push(message),
        error: (message, facts) => void warned.push(`${message} ${String(facts?.fault ?? facts?.error)}`),
      },
      sealer: createSealer({ masterKey: 'k'.repeat(32), purpose: 'connector-subscriptions' }),
      newSecret: newWebhookSecret,
      ownerId,
      servers,
      schemas,
      bots: {
        list: () => [bot],
        find: (name) => (name === bot.id || name === bot.name ? bot : null),
        unenforceable: () => null,
        async tell(id, text, key) {
          if (!told.some((one) => one.key === key)) told.push({ bot: id, text, key });
        },
      },
      tickets: createConnectorTickets({ tickets, ledger, ids, workspace: '/w', nameOf: () => bot.name }),
      automation,
      home: { name: cloud.name, url: () => cloud.url, call: (request) => cloud.call(request) },
      events: { emit: (tx, event) => tx.afterCommit(() => void emitted.push(event as (typeof emitted)[number])) },
    });
    return { store, ledger, subscriptions };
  }

  let opened = await open();
  const call = async (op: string, params: Record<string, string>, more: Record<string, unknown> = {}) => {
    const bound = opened.subscriptions.routes.find(({ route }) => route.op === op);
    if (bound === undefined) throw new Error(`${op} is not bound.`);
    const principal = { kind: 'owner', userId: ownerId, scopes: new Set(), via: 'file-token' };
    const context = { params, query: {}, principal, ...more } as unknown as Parameters<typeof bound.handler>[0];
    try {
      const answer = (await bound.handler(context)) as { status?: number; body: unknown };
      return { status: answer.status ?? 200, body: answer.body as never };
    } catch (error) {
      if (error instanceof AppError) return { status: error.status, body: error.toPlain() as never };
      throw error;
    }
  };

  const stand = {
    clock,
    server,
    cloud,
    rules,
    emitted,
    told,
    warned,
    connectors,
    call,
    get store() {
      return opened.store;
    },
    get ledger() {
      return opened.ledger;
    },
    get subscriptions() {
      return opened.subscriptions;
    },
    connect(id: string, more: Partial<ConnectorRef & { server: EventsServer }> = {}) {
      const made = { id, name: `Tracker ${id}`, url: `${server.url}?c=${id}`, enabled: true, server, ...more };
      connectors.set(id, made);
      return made;
    },
    lose(id: string) {
      for (const one of listeners.lost) one(id);
    },
    back(id: string) {
      for (const one of listeners.back) one(id);
    },
    remove(id: string) {
      const ref = servers.find(id) as ConnectorRef;
      connectors.delete(id);
      for (const one of listeners.gone) one(ref);
    },
    /** One round of the loop. */
    round: () => opened.subscriptions.now(),
    /** Waits until the one subscription of a connector is as said. */
    until: (connectorId: string, as: Partial<Subscription>) =>
      soon(async () => {
        const [one] = (await stand.read(connectorId)).subscriptions;
        expect(one).toMatchObject(as);
        return one as Subscription;
      }),
    /** Brings an event, as the cloud does; answers what the computer says. */
    deliver: (subscriptionKey: string, body: Record<string, unknown>, userId = ownerId) =>
      call('deliverConnectorEvent', {}, { body: { subscriptionKey, ...body }, principal: { userId } }) as Promise<{
        status: number;
        body: Record<string, string>;
      }>,
    async trail(connectorId: string, id: string, query: { limit?: number; cursor?: string } = {}) {
      const { body } = await call('listConnectorTrail', { id: connectorId, sid: id }, { query });
      return body as unknown as { events: TrailEvent[]; nextCursor: string | null };
    },
    end: (connectorId: string, id: string) => call('endConnectorSubscription', { id: connectorId, sid: id }),
    reset() {
      server.reset();
      cloud.calls.length = 0;
      Object.assign(cloud, { at: 'home_1', url: 'http://127.0.0.1:3010', status: 200, refusal: null, away: false });
      Object.assign(rules, {
        refuses: null,
        wanted: [],
        saved: [],
        taken: [],
        ended: [],
        withRuns: new Set(),
        breaks: false,
      });
      for (const list of [emitted, told, warned]) list.length = 0;
      connectors.clear();
    },
    subscribe: (connectorId: string, body: Partial<Subscribe> = {}) =>
      call(
        'subscribeToConnectorEvent',
        { id: connectorId },
        { body: { name: 'issue.opened', botId: bot.id, ...body } },
      ) as Promise<{
        status: number;
        body: { subscription: Subscription };
      }>,
    async read(connectorId: string) {
      const { body } = await call('listConnectorEvents', { id: connectorId });
      return body as unknown as ConnectorEvents;
    },
    /** Program down and up again: what is in memory alone is gone. */
    async restart() {
      await opened.subscriptions.close();
      await opened.store.close();
      opened = await open();
    },
    async close() {
      await opened.subscriptions.close();
      await opened.store.close();
      await schemas.close();
      await server.close();
    },
  };
  return stand;
}

export type Stand = Awaited<ReturnType<typeof openStand>>;

/** One for the tests of a file; each has its own connectors, so that none sees another's subscriptions. */
export function sharedStand(): { readonly current: Stand } {
  const folder = mkdtempSync(join(tmpdir(), 'gantry-subscriptions-'));
  let stand: Stand;
  beforeAll(async () => {
    stand = await openStand(folder);
  });
  beforeEach(() => stand.reset());
  afterAll(async () => {
    await stand.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    get current() {
      return stand;
    },
  };
}
