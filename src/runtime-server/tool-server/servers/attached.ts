/**
 * One attached server: its row, its last good list and, while it is enabled, its connection. Owns when its list is another one and what is said of
 * its credential; must not know other servers.
 */

import { AppError } from '../../../contracts/common/errors.ts';
import type { AttachedServer, Transport } from '../../../contracts/tool-server/servers.ts';
import { iso } from '../../../kit/clock/clock.ts';
import type { Log } from '../../../kit/log/log.ts';
import type { Base } from '../../base/base.ts';
import type { ServerAuth } from './auth.ts';
import { difference, listHash } from './catalogue.ts';
import { type Connection, type ConnectionWaits, createConnection } from './connection.ts';
import { UpstreamFault } from './fault.ts';
import { readListing, readPrompts } from './listing.ts';
import { type ServerRecord, type ServerRecords, type StoredList, wholeTransport } from './records.ts';
import { withoutSecrets } from './secrets.ts';
import { openUpstream, type Upstream, type UpstreamList } from './upstream.ts';
import type { UpstreamDeps } from './upstream-deps.ts';

export interface Attached {
  readonly record: ServerRecord;
  readonly list: StoredList | null;
  /** Null while it is disabled or cannot be begun. */
  readonly connection: Connection | null;
  /** As it is shown. `collisions`: tools of it that gave way to others. */
  shown(collisions: readonly string[]): AttachedServer;
  /** A text of the server without the secrets that it was given. */
  clean(text: string): string;
  /** Why it has no connection. */
  whyNone(): string;
  /** Its one connection, for a request of `work`. Throws {@link UpstreamFault}. */
  use<T>(signal: AbortSignal, work: (upstream: Upstream) => Promise<T>): Promise<T>;
  /** Begins to connect, if it is enabled. */
  begin(): void;
  end(): Promise<void>;
  reconnect(): Promise<void>;
  /** Ends the last list, which describes another program. */
  dropList(): Promise<void>;
  /** A sign-in has ended, with a token or without one. */
  answered(signedIn: boolean): Promise<void>;
  /** Its sign-in was revoked: nobody hears that it is back before a person has given another one. */
  signedOut(): Promise<void>;
  /** Another record describes it from now on. */
  become(record: ServerRecord): void;
}

export interface AttachedDeps extends Pick<Base, 'clock' | 'timers'> {
  readonly records: Pick<ServerRecords, 'putList' | 'dropList'>;
  readonly auth: ServerAuth | null;
  readonly upstream: UpstreamDeps;
  readonly waits: ConnectionWaits;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Pick<Log, 'warn' | 'error'>;
}

export function createAttached(
  first: { readonly record: ServerRecord; readonly list: StoredList | null },
  deps: AttachedDeps,
  on: { readonly list: () => void; readonly credential: (is: 'lost' | 'back') => void },
): Attached {
  const { records, clock, log } = deps;
  let { record, list } = first;
  let hash = list === null ? '' : listHash(list.tools, list.prompts);
  let connection: Connection | null = null;
  /** Why it cannot be begun. */
  let fault: string | null = null;
  /** The last state reported; `new` once a person has changed something about it. */
  let credential: 'new' | 'back' | 'lost' | 'taken' = 'new';

  function begin(): void {
    credential = 'new';
    fault = null;
    if (!record.enabled) return;
    let transport: Transport;
    try {
      transport = wholeTransport(record);
    } catch (error) {
      if (!(error instanceof AppError))
        log.error('An attached server could not be started.', { server: record.name, fault: error });
      fault =
        error instanceof AppError
          ? `${error.fact} ${error.action}`
          : 'Something went wrong inside Gantry; its log says more.';
      return;
    }
    const server = { id: record.id, name: record.name, transport };
    connection = createConnection({
      server,
      open: (options) => openUpstream(server, deps.upstream, options),
      auth: deps.auth,
      onList: heard,
      onStanding: (status) => {
        if (status === 'needs_reauth') tell('lost');
        else if (credential !== 'taken') tell('back');
      },
      clock,
      timers: deps.timers,
      random: deps.random,
      waits: deps.waits,
    });
    connection.start();
  }

  function tell(is: 'lost' | 'back'): void {
    if (credential === is || (is === 'lost' && credential === 'taken')) return;
    credential = is;
    on.credential(is);
  }

  /** An equal list stays byte for byte the same, in whatever order it came. */
  function heard(sent: UpstreamList): void {
    const { id, name } = record;
    const before = list;
    const listed = readListing(sent.tools);
    const { tools } = listed;
    const asked = sent.prompts === null ? null : readPrompts(sent.prompts);
    const prompts = asked?.prompts ?? before?.prompts ?? [];
    const problems = [...listed.problems, ...(asked?.problems ?? ['The server has prompts but did not list them.'])];
    const heardHash = listHash(tools, prompts);
    const same = before !== null && heardHash === hash;
    const now: StoredList = { ...(same ? before : { tools, prompts }), problems, listedAt: clock.now() };
    list = now;
    hash = heardHash;
    if (same && String(before.problems) === String(problems)) return;
    if (!same) on.list();
    if (before !== null && !same) {
      // Only the model would see a description that changed after the person read it.
      log.warn('An attached server changed its tools.', { server: name, ...difference(before.tools, tools) });
    }
    records
      .putList(id, now)
      .catch((error) =>
        log.error('The list of an attached server could not be saved.', { server: name, fault: error }),
      );
  }

  const clean = (text: string) => withoutSecrets(text, record.secrets ?? {});

  return {
    get record() {
      return record;
    },
    get list() {
      return list;
    },
    get connection() {
      return connection;
    },
    shown(collisions) {
      const state = connection?.state();
      const error = state?.error ?? fault;
      return {
        id: record.id,
        name: record.name,
        transport: record.hidden,
        enabled: record.enabled,
        timeoutMs: record.timeoutMs,
        status: record.enabled ? (state?.status ?? 'error') : 'disabled',
        error: error === null ? null : clean(error),
        authorizeUrl: state?.authorizeUrl ?? null,
        toolCount: (list?.tools.length ?? 0) - collisions.length,
        problems: [...(list?.problems ?? []), ...collisions],
        pid: state?.pid ?? null,
        lastListedAt: list === null ? null : iso(list.listedAt),
        createdAt: iso(record.createdAt),
        updatedAt: iso(record.updatedAt),
      };
    },
    clean,
    whyNone: () => fault ?? 'it is shutting down',
    async use(signal, work) {
      if (connection !== null) return connection.use(signal, work);
      throw new UpstreamFault(
        'connection',
        record.enabled ? (fault ?? 'The server is shutting down.') : 'The server is disabled.',
      );
    },
    begin,
    async end() {
      const ended = connection;
      connection = null;
      await ended?.close();
    },
    async reconnect() {
      credential = 'new';
      if (connection === null) begin();
      else await connection.reconnect();
    },
    async dropList() {
      list = null;
      await records.dropList(record.id);
    },
    async answered(signedIn) {
      if (signedIn) credential = 'new';
      // Without a token it is asked where to sign in now: the former address is used up.
      if (signedIn || connection?.state().status === 'needs_reauth') await connection?.reconnect();
    },
    async signedOut() {
      tell('lost');
      credential = 'taken';
      await connection?.reconnect();
    },
    become(next) {
      record = next;
    },
  };
}
