/** The events half of the edge over a real database and real HTTP: two servers, apps by their bearer, a clock of the test. */
import { createEdgeEvents, type EdgeEvents, edgeEventMigrations } from '../../../src/cloud-api/edge/events.ts';
import type { EdgeApp } from '../../../src/cloud-api/edge/visit.ts';
import { createEvents, eventMigrations } from '../../../src/cloud-api/events/index.ts';
import { edgeAgents, edgeBot } from '../../../src/contracts/edge/routes.ts';
import type { EventData, NotifiableEvent } from '../../../src/contracts/events/registry.ts';
import type { SubscribeResult } from '../../../src/contracts/tool-server/mcp-events.ts';
import { type Clock, systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { createEgress, type EgressOptions } from '../../../src/kit/egress/egress.ts';
import { type Authenticator, bind, type RawHandler } from '../../../src/kit/http/types.ts';
import { createIds } from '../../../src/kit/ids/ids.ts';
import { laneMigrations } from '../../../src/kit/lane/migrations.ts';
import { createMcpService } from '../../../src/kit/mcp/create-service.ts';
import { createMcpEndpoint } from '../../../src/kit/mcp/endpoint.ts';
import { createSealer } from '../../../src/kit/secrets/sealer.ts';
import type { SharedStore } from '../../../src/kit/store/shared-store.ts';
import { onEnd, serve } from '../../kit/http/support.ts';
import type { Place } from '../../support/engines.ts';
import type { TestClock } from '../../support/test-clock.ts';
import type { Receiver } from './receiver.ts';

export const migrations = [...laneMigrations, ...eventMigrations, ...edgeEventMigrations];
export const app: EdgeApp = { userId: 'user_1', clientId: 'app_1' };
/** Less than a test may take, so that what did not come is said, not that time ran out. */
const settleMs = 60_000;

export interface Rpc {
  readonly result: SubscribeResult & Record<string, unknown> & { readonly events: readonly Record<string, unknown>[] };
  readonly error: { readonly code: number; readonly message: string; readonly data?: Record<string, unknown> };
}

export interface WorldOptions {
  readonly place: Place;
  readonly clock?: TestClock;
  readonly allow?: readonly string[];
  readonly lookup?: EgressOptions['lookup'];
  /** Names over http too. */
  readonly plain?: boolean;
  readonly masterKey?: string;
  readonly started?: boolean;
  readonly listen?: boolean;
}

export interface World {
  readonly store: SharedStore;
  readonly edge: EdgeEvents;
  readonly port: number;
  readonly warnings: readonly string[];
  /** Apps that may not be told any more. */
  readonly shutOut: Set<string>;
  /** Scopes that were asked for. */
  readonly asked: string[];
  rpc(method: string, params?: unknown, more?: { server?: string; by?: EdgeApp }): Promise<Rpc>;
  subscribe(
    receiver: Receiver,
    more?: { name?: string; url?: string; secret?: string; by?: EdgeApp; server?: string } & Record<string, unknown>,
  ): Promise<Rpc>;
  emit<T extends NotifiableEvent>(type: T, sourceId: string, data: EventData<T>, userId?: string): Promise<boolean>;
  /** `agent.run.completed` of a bot. */
  run(runId: string, botId?: string, userId?: string): Promise<boolean>;
  rest(method: string, path: string, userId?: string): Promise<{ status: number; json: Record<string, unknown> }>;
  close(): Promise<void>;
}

/** `Bearer <user>.<client>`, as the dispatcher would have it from a token. */
const bearer: Authenticator = {
  name: 'app of a test',
  authenticate(request) {
    const found = /^Bearer (\w+)\.(\w+)$/.exec(request.headers.authorization ?? '');
    if (found === null) return null;
    const scopes = new Set(['agents:read', 'bots:act'] as const);
    const userId = found[1]!;
    // A person in a browser, or one of their apps.
    if (found[2] === 'person') return { kind: 'user', userId, via: 'cookie', scopes };
    return { kind: 'user', userId, via: 'oidc', client: found[2]!, scopes };
  },
};

export async function openWorld(options: WorldOptions): Promise<World> {
  const clock: Clock = options.clock ?? systemClock;
  const timers = options.clock ?? systemTimers;
  const store = await options.place.open(migrations, clock, { listen: options.listen ?? true });
  const ids = createIds(clock);
  const { backbone } = createEvents({ store, clock, ids });
  const warnings: string[] = [];
  const log = {
    warn: (message: string, facts?: unknown) => void warnings.push(`${message} ${JSON.stringify(facts)}`),
    error: (message: string, facts?: unknown) => void warnings.push(`${message} ${JSON.stringify(facts)}`),
  };
  const { allow = ['127.0.0.0/8'], plain = false } = options;
  const lookup = options.lookup === undefined ? {} : { lookup: options.lookup };
  const egress = createEgress({ allow, plain, ...lookup });
  const shutOut = new Set<string>();
  const asked: string[] = [];
  const edge = createEdgeEvents({
    store,
    clock,
    timers,
    ids,
    log,
    egress,
    sealer: createSealer({ masterKey: options.masterKey ?? 'master-key-of-tests-0123456789abcdef', purpose: 'edge' }),
    events: backbone,
    mayStill({ clientId, scope }) {
      asked.push(scope);
      return !shutOut.has(clientId);
    },
    random: () => 0.5,
  });
  const service = createMcpService({
    info: { name: 'edge', version: '1' },
    methods: edge.methods(({ request, principal }) => {
      const bot = /\/bots\/(\w+)/.exec(request.url ?? '')?.[1];
      const { userId, client = '' } = principal;
      const server = bot === undefined ? 'agents' : (`bots/${bot}` as const);
      return { server, app: client === '' ? null : { userId, clientId: client } };
    }),
    extensions: () => edge.capabilities,
  });
  const endpoint = createMcpEndpoint({ service, log, strictHeaders: true }) as unknown as RawHandler<typeof edgeAgents>;
  const { call, port } = await serve({
    routes: [bind(edgeAgents, endpoint), bind(edgeBot, endpoint as never), ...edge.routes],
    owners: edge.owners,
    authenticators: [bearer],
  });
  let closed = false;
  const close = async () => {
    if (closed) return;
    closed = true;
    await edge.close();
    await egress.close();
    await store.close();
  };
  onEnd(close);
  if (options.started !== false) await edge.start();

  const rpc: World['rpc'] = async (method, params = {}, { server = '', by = app } = {}) => {
    const reply = await call('POST', `/edge/mcp${server}`, {
      token: `${by.userId}.${by.clientId}`,
      headers: { 'mcp-protocol-version': '2025-06-18' },
      body: { jsonrpc: '2.0', id: 1, method, params },
    });
    return reply.json as unknown as Rpc;
  };
  const emit: World['emit'] = (type, sourceId, data, userId = app.userId) =>
    store.write((tx) => backbone.emit(tx, { userId, type, sourceId, occurredAt: clock.now(), data }));
  return {
    store,
    edge,
    port,
    warnings,
    shutOut,
    asked,
    rpc,
    emit,
    close,
    subscribe: (receiver, { name = 'agent.run.completed', url, secret, by, server, ...more } = {}) =>
      rpc(
        'events/subscribe',
        {
          name,
          arguments: {},
          delivery: { mode: 'webhook', url: url ?? receiver.url, secret: secret ?? receiver.secrets.at(-1)! },
          ...more,
        },
        { ...(by === undefined ? {} : { by }), ...(server === undefined ? {} : { server }) },
      ),
    run: (runId, botId = 'bot_1', userId = app.userId) =>
      emit('agent.run.completed', runId, { runId, status: 'completed', title: 'A run', botId }, userId),
    async rest(method, path, userId = app.userId) {
      const { status, json } = await call(method, path, { token: `${userId}.person` });
      return { status, json: json as unknown as Record<string, unknown> };
    },
  };
}

/** Lets what is under way come to its end, without moving the clock. */
export async function until(holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + settleMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error('It did not come so far.');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** The same, with the clock moving on in such steps, milliseconds. */
export async function moving(clock: TestClock, step: number, holds: () => boolean | Promise<boolean>): Promise<void> {
  await until(async () => {
    if (await holds()) return true;
    await clock.advance(step);
    return false;
  });
}

/** The same, with the clock going from one attempt that is due to the next. */
export async function retrying(
  { store }: World,
  clock: TestClock,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const sql = 'SELECT min(not_before) AS next FROM lane_item WHERE not_before > ?';
  await until(async () => {
    if (await holds()) return true;
    const { next } = (await store.get<{ next: number | null }>(sql, clock.now()))!;
    // What was read of the next attempt may be news of the one before, which was all that was waited for.
    if (await holds()) return true;
    if (next !== null) await clock.advance(next - clock.now());
    return false;
  });
}
