/**
 * The attached servers of this computer: each with its row, its last good list and, while it is enabled, its connection. Owns the current list of
 * all tools; must not know HTTP or how a server is reached.
 */

import { AppError } from '../../../contracts/common/errors.ts';
import type { AttachedServer, AttachServer, ChangeServer, Transport } from '../../../contracts/tool-server/servers.ts';
import { defaultCallTimeoutMs, placeOf } from '../../../contracts/tool-server/servers.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Log } from '../../../kit/log/log.ts';
import type { Base } from '../../base/base.ts';
import type { ForeignPrompts, ForeignTools } from '../foreign-tools.ts';
import type { AuthServer, ServerAuth } from './auth.ts';
import { createCallTool } from './calls.ts';
import { type Catalogue, createCatalogue, difference, listHash } from './catalogue.ts';
import { checkTransport } from './check-transport.ts';
import { type Connection, type ConnectionWaits, createConnection } from './connection.ts';
import { type FaultKind, type Said, saidBy, UpstreamFault } from './fault.ts';
import { createFollow, type FollowedServer } from './follow.ts';
import { authServerOf } from './http-connection.ts';
import { readListing, readPrompts } from './listing.ts';
import { type ServerRecord, type ServerRecords, type StoredList, wholeTransport } from './records.ts';
import { failure } from './results.ts';
import { hideSecrets, keepSecrets, restoreSecrets, withoutSecrets } from './secrets.ts';
import { openUpstream, type Upstream, type UpstreamList } from './upstream.ts';
import type { UpstreamDeps } from './upstream-deps.ts';

interface Failure {
  readonly kind: FaultKind;
  readonly message: string;
  /** Null: it sent nothing readable. */
  readonly said: Said | null;
}

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

interface Entry {
  record: ServerRecord;
  list: StoredList | null;
  listHash: string;
  /** Null while it is disabled or cannot be begun. */
  connection: Connection | null;
  /** Why it cannot be begun. */
  fault: string | null;
  /** The last state reported; `new` once a person has changed something about it. */
  credential: 'new' | 'back' | 'lost' | 'taken';
}

export function createServers(
  deps: Pick<Base, 'clock' | 'timers' | 'ids'> & {
    readonly records: ServerRecords;
    readonly auth: ServerAuth | null;
    readonly upstream: UpstreamDeps;
    readonly waits: ConnectionWaits;
    /** Whether an address is Gantry's own tool server, on this computer. */
    readonly isOwn: (url: URL) => boolean;
    /** 0 ≤ x < 1. */
    readonly random: () => number;
    readonly log: Pick<Log, 'info' | 'warn' | 'error'>;
  },
): Servers {
  const { records, clock, log } = deps;
  const follow = createFollow({ clock, timers: deps.timers, minPollMs: deps.waits.minPollMs });
  const call = createCallTool({ clock, follow });
  /** Oldest first. */
  const entries = new Map<string, Entry>();
  let catalogue: Catalogue = createCatalogue([]);
  let revision = 1;
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

  function listAnew(): void {
    const enabled = [...entries.values()].filter(({ record }) => record.enabled);
    catalogue = createCatalogue(
      enabled.map(({ record: { id, name }, list }) => ({
        id,
        name,
        tools: list?.tools ?? [],
        prompts: list?.prompts ?? [],
      })),
    );
    revision += 1;
  }

  function begin(entry: Entry): void {
    const { record } = entry;
    entry.fault = null;
    if (!record.enabled) return;
    let transport: Transport;
    try {
      transport = wholeTransport(record);
    } catch (error) {
      if (!(error instanceof AppError))
        log.error('An attached server could not be started.', { server: record.name, fault: error });
      entry.fault =
        error instanceof AppError
          ? `${error.fact} ${error.action}`
          : 'Something went wrong inside Gantry; its log says more.';
      return;
    }
    const server = { id: record.id, name: record.name, transport };
    entry.connection = createConnection({
      server,
      open: (options) => openUpstream(server, deps.upstream, options),
      auth: deps.auth,
      onList: (sent) => heard(entry, sent),
      onStanding: (status) => {
        if (status === 'needs_reauth') tell(entry, 'lost');
        else if (entry.credential !== 'taken') tell(entry, 'back');
      },
      clock,
      timers: deps.timers,
      random: deps.random,
      waits: deps.waits,
    });
    entry.connection.start();
  }

  function tell(entry: Entry, is: 'lost' | 'back'): void {
    if (entry.credential === is || (is === 'lost' && entry.credential === 'taken')) return;
    entry.credential = is;
    for (const listener of credentialListeners) listener(entry.record.id, is);
  }

  async function end(entry: Entry): Promise<void> {
    const { connection } = entry;
    entry.connection = null;
    await connection?.close();
  }

  /** An equal list stays byte for byte the same, in whatever order it came. */
  function heard(entry: Entry, sent: UpstreamList): void {
    const { id, name } = entry.record;
    const before = entry.list;
    const listed = readListing(sent.tools);
    const { tools } = listed;
    const asked = sent.prompts === null ? null : readPrompts(sent.prompts);
    const prompts = asked?.prompts ?? before?.prompts ?? [];
    const problems = [...listed.problems, ...(asked?.problems ?? ['The server has prompts but did not list them.'])];
    const hash = listHash(tools, prompts);
    const listedAt = clock.now();
    const same = before !== null && hash === entry.listHash;
    entry.list = { ...(same ? before : { tools, prompts }), problems, listedAt };
    entry.listHash = hash;
    if (same && String(before.problems) === String(problems)) return;
    if (!same) listAnew();
    if (before !== null && !same) {
      // Only the model would see a description that changed after the person read it.
      log.warn('An attached server changed its tools.', { server: name, ...difference(before.tools, tools) });
    }
    records
      .putList(id, entry.list)
      .catch((fault) => log.error('The list of an attached server could not be saved.', { server: name, fault }));
  }

  function find(id: string): Entry {
    const entry = entries.get(id);
    if (entry !== undefined) return entry;
    const shown = JSON.stringify(id.slice(0, 80));
    throw new AppError('not_found', `There is no attached server ${shown}.`, 'List them: GET /mcp/servers', {
      wireCode: 'server_not_found',
    });
  }

  function show({ record, list, connection, fault }: Entry): AttachedServer {
    const state = connection?.state();
    const error = state?.error ?? fault;
    const collisions = catalogue.problems.get(record.id) ?? [];
    return {
      id: record.id,
      name: record.name,
      transport: record.hidden,
      enabled: record.enabled,
      timeoutMs: record.timeoutMs,
      status: record.enabled ? (state?.status ?? 'error') : 'disabled',
      error: error === null ? null : clean(record, error),
      authorizeUrl: state?.authorizeUrl ?? null,
      toolCount: (list?.tools.length ?? 0) - collisions.length,
      problems: [...(list?.problems ?? []), ...collisions],
      pid: state?.pid ?? null,
      lastListedAt: list === null ? null : iso(list.listedAt),
      createdAt: iso(record.createdAt),
      updatedAt: iso(record.updatedAt),
    };
  }

  const prompts: ForeignPrompts = {
    list: () => catalogue.prompts,
    async get(name, args, { signal }) {
      const found = catalogue.findPrompt(name);
      const entry = found === undefined ? undefined : entries.get(found.serverId);
      if (found === undefined || entry === undefined) {
        throw new AppError('not_found', `There is no prompt ${JSON.stringify(name.slice(0, 100))}.`, 'List them.');
      }
      const { id, name: server, timeoutMs } = entry.record;
      const stop = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        return await use(id, stop, (upstream) => upstream.prompt(found.prompt, args, { signal: stop, timeoutMs }));
      } catch (error) {
        const why = upstreams.explain(id, error)?.message ?? `no answer within ${timeoutMs / 1000} s`;
        const fact = `The attached server "${server}" did not give the prompt: ${why.replace(/(?<![.!?])$/, '.')}`;
        throw new AppError('transport', fact, 'Try again, or look at the server on the Tools page.', { cause: error });
      }
    },
  };

  const tools: ForeignTools = {
    list: () => catalogue.tools,
    prompts,
    get revision() {
      return revision;
    },
    async call(name, args, options) {
      const found = catalogue.find(name);
      const entry = found === undefined ? undefined : entries.get(found.serverId);
      if (found === undefined || entry === undefined) return failure(`There is no tool "${name.slice(0, 100)}".`);
      const { record, connection, fault } = entry;
      if (connection === null)
        return failure(`The attached server "${record.name}" cannot be reached: ${fault ?? 'it is shutting down'}`);
      return call(followed(record), found.tool, args, options);
    },
    async follow(name, task, options) {
      const record = entries.get(task.server)?.record;
      if (record !== undefined) return follow(followed(record), name, task, options);
      return failure(`The attached server of ${name} was detached while it ran: whether it was done is not known.`);
    },
  };

  /** It may be another connection, or none, by the time of a later request. */
  function followed(record: ServerRecord): FollowedServer {
    const { id, name, timeoutMs } = record;
    return {
      id,
      name,
      timeoutMs,
      connection: { use: (signal, work) => use(id, signal, work) },
      clean: (text) => clean(record, text),
    };
  }

  /** The one connection of a server, for a request of `work`. */
  async function use<T>(id: string, signal: AbortSignal, work: (upstream: Upstream) => Promise<T>): Promise<T> {
    const { record, connection, fault } = find(id);
    if (connection !== null) return connection.use(signal, work);
    throw new UpstreamFault(
      'connection',
      record.enabled ? (fault ?? 'The server is shutting down.') : 'The server is disabled.',
    );
  }

  const upstreams: Upstreams = {
    ask: (id, method, params, options) => use(id, options.signal, (upstream) => upstream.ask(method, params, options)),
    capabilities: (id, signal) => use(id, signal, (upstream) => upstream.capabilities(signal)),
    explain(id, thrown) {
      const record = entries.get(id)?.record;
      if (!(thrown instanceof UpstreamFault)) return null;
      const words = (text: string) => (record === undefined ? text : clean(record, text));
      const said = saidBy(thrown);
      return {
        kind: thrown.kind,
        message: words(thrown.message),
        said: said === null ? null : { ...said, message: words(said.message) },
      };
    },
    signedOut: (id) =>
      inTurn(async () => {
        const entry = find(id);
        tell(entry, 'lost');
        entry.credential = 'taken';
        await entry.connection?.reconnect();
      }),
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
    tools,
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
        const entry: Entry = {
          record,
          list: null,
          listHash: '',
          connection: null,
          fault: null,
          credential: 'new',
        };
        entries.set(record.id, entry);
        listAnew();
        begin(entry);
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
        if (restarts) await end(entry);
        entry.record = changed;
        if (other || how?.signedOut) await deps.auth?.forget(id);
        if (other) {
          // Another program: the earlier one's list does not describe it.
          entry.list = null;
          await records.dropList(id);
        }
        if (record.enabled && (other || !changed.enabled)) for (const listener of goneListeners) listener(was);
        if (restarts) entry.credential = 'new';
        if (restarts) begin(entry);
        listAnew();
        return show(entry);
      }),
    detach: (id) =>
      inTurn(async () => {
        const entry = find(id);
        const was = show(entry);
        await records.remove(id);
        entries.delete(id);
        listAnew();
        log.info('A tool server was detached.', { server: entry.record.name });
        for (const listener of goneListeners) listener(was);
        await Promise.all([end(entry), deps.auth?.forget(id)]);
      }),
    reconnect: (id) =>
      inTurn(async () => {
        const entry = find(id);
        entry.credential = 'new';
        if (entry.connection === null) begin(entry);
        else await entry.connection.reconnect();
        return show(entry);
      }),
    async start() {
      for (const { record, list } of await records.all()) {
        const hash = list === null ? '' : listHash(list.tools, list.prompts);
        entries.set(record.id, { record, list, listHash: hash, connection: null, fault: null, credential: 'new' });
      }
      listAnew();
      for (const entry of entries.values()) begin(entry);
      stopListening =
        deps.auth?.onAnswered((id, signedIn) => {
          void inTurn(async () => {
            const entry = entries.get(id);
            if (entry === undefined) return;
            if (signedIn) entry.credential = 'new';
            // Without a token it is asked where to sign in now: the former address is used up.
            if (signedIn || entry.connection?.state().status === 'needs_reauth') await entry.connection?.reconnect();
          });
        }) ?? stopListening;
    },
    async close() {
      stopListening();
      await inTurn(async () => {
        await Promise.all([...entries.values()].map(end));
      });
    },
  };
}

const clean = ({ secrets }: ServerRecord, text: string) => withoutSecrets(text, secrets ?? {});
