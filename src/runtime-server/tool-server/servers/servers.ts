/**
 * The attached servers of this computer, each an {@link Attached}: attaching, changing and detaching them, one change after the other, and what other
 * parts hear of it. Must not know HTTP or how a server is reached.
 */

import { AppError } from '../../../contracts/common/errors.ts';
import type { AttachedServer, AttachServer, ChangeServer } from '../../../contracts/tool-server/servers.ts';
import { defaultCallTimeoutMs, placeOf } from '../../../contracts/tool-server/servers.ts';
import type { Log } from '../../../kit/log/log.ts';
import type { Base } from '../../base/base.ts';
import type { ForeignTools } from '../foreign-tools.ts';
import { type Attached, type AttachedDeps, createAttached } from './attached.ts';
import type { AuthServer } from './auth.ts';
import { checkTransport } from './check-transport.ts';
import { type Failure, failureOf } from './fault.ts';
import { authServerOf } from './http-connection.ts';
import { createOffered } from './offered.ts';
import { type ServerRecord, type ServerRecords, wholeTransport } from './records.ts';
import { hideSecrets, keepSecrets, restoreSecrets } from './secrets.ts';

/** Attached servers for parts that need more than tools. Throws `not_found` and {@link UpstreamFault}. */
interface Upstreams {
  /** Over the existing connection, or one that it opens. */
  ask(
    id: string,
    method: string,
    params: Readonly<Record<string, unknown>>,
    options: { readonly signal: AbortSignal; readonly timeoutMs: number },
  ): Promise<Readonly<Record<string, unknown>>>;
  capabilities(id: string, signal: AbortSignal): Promise<Readonly<Record<string, unknown>>>;
  /** The fault of this server, without its secrets; null: the thrown value is no fault of a server. */
  explain(id: string, thrown: unknown): Failure | null;
  /** The person's sign-in or key was revoked: no part hears that it is back before they have given another one. */
  signedOut(id: string): Promise<void>;
  /** Returns the function that unsubscribes, here as below. `lost`: it wants another credential; `back`: it was lost or new, and it works. */
  onCredential(listener: (id: string, is: 'lost' | 'back') => void): () => void;
  /** Detached, disabled, or another one now; as it was. */
  onGone(listener: (server: AttachedServer) => void): () => void;
}

export interface Servers {
  readonly tools: ForeignTools;
  all(): readonly AttachedServer[];
  /** Throws `not_found`, here as below. */
  one(id: string): AttachedServer;
  /** The server's identity for sign-ins; null for an unknown one, or one that is not on HTTP. */
  signInAt(id: string): AuthServer | null;
  attach(body: AttachServer): Promise<AttachedServer>;
  /** `signedOut`: also forgets the sign-in there, once the change is kept. */
  change(id: string, body: ChangeServer, how?: { readonly signedOut: boolean }): Promise<AttachedServer>;
  detach(id: string): Promise<void>;
  reconnect(id: string): Promise<AttachedServer>;
  readonly upstreams: Upstreams;
  /** Reads what there is, and begins to connect. */
  start(): Promise<void>;
  close(): Promise<void>;
}

export function createServers(
  deps: AttachedDeps & {
    readonly records: ServerRecords;
    readonly ids: Base['ids'];
    /** Whether an address is Gantry's own tool server, on this computer. */
    readonly isOwn: (url: URL) => boolean;
    readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  },
): Servers {
  const { records, clock, log } = deps;
  /** Oldest first. */
  const entries = new Map<string, Attached>();
  const offered = createOffered({ clock, timers: deps.timers, minPollMs: deps.waits.minPollMs, entries, find });
  /** Changes of servers happen one after the other. */
  let turn: Promise<unknown> = Promise.resolve();
  let stopListening = () => {};
  const credentialListeners = new Set<(id: string, is: 'lost' | 'back') => void>();
  const goneListeners = new Set<(server: AttachedServer) => void>();

  function inTurn<T>(work: () => Promise<T>): Promise<T> {
    const mine = turn.then(work);
    turn = mine.catch(() => {});
    return mine;
  }

  function take(first: Parameters<typeof createAttached>[0]): Attached {
    const { id } = first.record;
    const entry = createAttached(first, deps, {
      list: offered.renew,
      credential(is) {
        for (const listener of credentialListeners) listener(id, is);
      },
    });
    entries.set(id, entry);
    return entry;
  }

  function find(id: string): Attached {
    const entry = entries.get(id);
    if (entry !== undefined) return entry;
    const shown = JSON.stringify(id.slice(0, 80));
    throw new AppError('not_found', `There is no attached server ${shown}.`, 'List them: GET /mcp/servers', {
      wireCode: 'server_not_found',
    });
  }

  const show = (entry: Attached): AttachedServer => entry.shown(offered.collisions(entry.record.id));

  const upstreams: Upstreams = {
    ask: async (id, method, params, options) =>
      find(id).use(options.signal, (upstream) => upstream.ask(method, params, options)),
    capabilities: async (id, signal) => find(id).use(signal, (upstream) => upstream.capabilities(signal)),
    explain: (id, thrown) => failureOf(thrown, entries.get(id)?.clean),
    signedOut: (id) => inTurn(async () => find(id).signedOut()),
    onCredential(listener) {
      credentialListeners.add(listener);
      return () => credentialListeners.delete(listener);
    },
    onGone(listener) {
      goneListeners.add(listener);
      return () => goneListeners.delete(listener);
    },
  };

  return {
    tools: offered.tools,
    upstreams,
    all: () => [...entries.values()].map(show),
    one: (id) => show(find(id)),
    signInAt(id) {
      const record = entries.get(id)?.record;
      if (record === undefined || record.hidden.type !== 'http') return null;
      return authServerOf({ id, name: record.name, transport: wholeTransport(record) });
    },
    attach: (body) =>
      inTurn(async () => {
        const transport = restoreSecrets(body.transport, {});
        checkTransport(transport, deps.isOwn);
        const now = clock.now();
        const record: ServerRecord = {
          id: deps.ids.next('server'),
          name: body.name,
          ...hideSecrets(transport),
          enabled: body.enabled ?? true,
          timeoutMs: body.timeoutMs ?? defaultCallTimeoutMs,
          createdAt: now,
          updatedAt: now,
        };
        await records.add(record);
        log.info('A tool server was attached.', { server: record.name });
        const entry = take({ record, list: null });
        offered.renew();
        entry.begin();
        return show(entry);
      }),
    change: (id, body, how) =>
      inTurn(async () => {
        const entry = find(id);
        const { record } = entry;
        const whole = body.transport === undefined ? undefined : keepSecrets(body.transport, record);
        if (whole !== undefined) checkTransport(whole, deps.isOwn);
        const changed: ServerRecord = {
          ...record,
          ...(whole === undefined ? {} : hideSecrets(whole)),
          name: body.name ?? record.name,
          enabled: body.enabled ?? record.enabled,
          timeoutMs: body.timeoutMs ?? record.timeoutMs,
          updatedAt: clock.now(),
        };
        await records.change(changed);
        const other = placeOf(changed.hidden) !== placeOf(record.hidden);
        const was = show(entry);
        const restarts = body.transport !== undefined || changed.enabled !== record.enabled;
        if (restarts) await entry.end();
        entry.become(changed);
        if (other || how?.signedOut) await deps.auth?.forget(id);
        // Another program: the earlier one's list does not describe it.
        if (other) await entry.dropList();
        if (record.enabled && (other || !changed.enabled)) for (const listener of goneListeners) listener(was);
        if (restarts) entry.begin();
        offered.renew();
        return show(entry);
      }),
    detach: (id) =>
      inTurn(async () => {
        const entry = find(id);
        const was = show(entry);
        await records.remove(id);
        entries.delete(id);
        offered.renew();
        log.info('A tool server was detached.', { server: entry.record.name });
        for (const listener of goneListeners) listener(was);
        await Promise.all([entry.end(), deps.auth?.forget(id)]);
      }),
    reconnect: (id) =>
      inTurn(async () => {
        const entry = find(id);
        await entry.reconnect();
        return show(entry);
      }),
    async start() {
      for (const stored of await records.all()) take(stored);
      offered.renew();
      for (const entry of entries.values()) entry.begin();
      stopListening =
        deps.auth?.onAnswered((id, signedIn) => {
          void inTurn(async () => entries.get(id)?.answered(signedIn));
        }) ?? stopListening;
    },
    async close() {
      stopListening();
      await inTurn(async () => {
        await Promise.all([...entries.values()].map((entry) => entry.end()));
      });
    },
  };
}
