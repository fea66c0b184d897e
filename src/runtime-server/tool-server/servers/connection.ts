/**
 * Keeps one server connected: connects, lists, reconnects with growing waits when it is gone, and reports its state. Owns when; must not know
 * transports, rows or other servers.
 */

import type { ServerState } from '../../../contracts/tool-server/servers.ts';
import type { Base } from '../../base/base.ts';
import type { ServerAuth } from './auth.ts';
import { UpstreamFault } from './fault.ts';
import { authServerOf } from './http-connection.ts';
import type { Upstream, UpstreamList } from './upstream.ts';
import type { UpstreamServer } from './upstream-deps.ts';

interface ConnectionState {
  readonly status: Exclude<ServerState, 'disabled'>;
  /** The problem and what to do, in a sentence. */
  readonly error: string | null;
  readonly authorizeUrl: string | null;
  readonly pid: number | null;
}

export interface ConnectionWaits {
  /** Between tries, milliseconds; the last one stays. */
  readonly backoffMs: readonly number[];
  /** Lists are read again this often: it also shows that the server still answers. Milliseconds. */
  readonly refreshMs: number;
  /** However fast a server says that its task is: it is asked no more often. Milliseconds. */
  readonly minPollMs: number;
}

export interface Connection {
  state(): ConnectionState;
  /** Begins; never waits. */
  start(): void;
  /** Ends the current connection and connects again. Resolves when the old one is gone. */
  reconnect(): Promise<void>;
  /** One attempt to use the connection, which it opens if needed. Throws {@link UpstreamFault}. */
  use<T>(signal: AbortSignal, work: (upstream: Upstream) => Promise<T>): Promise<T>;
  /** Ends it permanently. */
  close(): Promise<void>;
}

/** After this long a connection, a server has earned a quick retry. Milliseconds. */
const steadyMs = 60_000;
/** The address of a sign-in ends after ten minutes: a person who comes later finds another. Milliseconds. */
const signInAgainMs = 10 * 60_000 + 1000;

type Standing = {
  readonly status: ConnectionState['status'];
  readonly error: string | null;
  readonly authorizeUrl: string | null;
};
const signInWords =
  'Somebody must sign in there: on the Tools page, or at the address that `gantry tools servers` shows.';
const keyWords =
  "If the server needs a key, set it as a header (--header 'Authorization: Bearer $NAME' when you attach it; on the Tools page: Change → Headers). If it needs a client id, set it there too.";
const connecting: Standing = { status: 'connecting', error: null, authorizeUrl: null };
const connected: Standing = { status: 'connected', error: null, authorizeUrl: null };

export function createConnection(
  deps: Pick<Base, 'clock' | 'timers'> & {
    readonly server: UpstreamServer;
    readonly open: (options: { readonly onListChanged: () => void; readonly signal: AbortSignal }) => Promise<Upstream>;
    readonly auth: ServerAuth | null;
    readonly onList: (list: UpstreamList) => void;
    /** Called when it is connected, and when it wants a sign-in; the same may come twice. */
    readonly onStanding: (status: 'connected' | 'needs_reauth') => void;
    /** 0 ≤ x < 1. */
    readonly random: () => number;
    readonly waits: ConnectionWaits;
  },
): Connection {
  const { server, clock, timers, waits } = deps;
  let standing: Standing = connecting;
  let current: Upstream | null = null;
  let attempt: Promise<void> | null = null;
  /** The current work, and the scheduled work. */
  let running = new AbortController();
  let cancelNext = () => {};
  let cancelRefresh = () => {};
  let failures = 0;
  let connectedAt = 0;
  let inUse = 0;
  let refreshing: Promise<void> | null = null;
  let asked = false;
  let closed = false;

  function stand(next: Standing): void {
    standing = next;
    if (next.status === 'connected' || next.status === 'needs_reauth') deps.onStanding(next.status);
  }

  const failed = (error: string): Standing => ({ status: 'error', error, authorizeUrl: null });

  /** Resolves when it is connected and has listed, or has not; never rejects. */
  function connect(): Promise<void> {
    attempt ??= tryOnce(running.signal).finally(() => {
      attempt = null;
    });
    return attempt;
  }

  async function tryOnce(signal: AbortSignal, mayChallenge = true): Promise<void> {
    cancelNext();
    if (signal.aborted) return;
    standing = connecting;
    let upstream: Upstream | null = null;
    try {
      upstream = await deps.open({ onListChanged: () => void refresh(), signal });
      const list = await upstream.list(signal);
      if (signal.aborted) return await upstream.close();
      deps.onList(list);
      take(upstream);
    } catch (error) {
      await upstream?.close();
      if (signal.aborted) return;
      const fault = error as UpstreamFault;
      if (fault.kind !== 'unauthorized') return again(failed(fault.message));
      const how = await signIn(fault, signal);
      if (how === 'token' && mayChallenge) return tryOnce(signal, false);
      if (typeof how === 'object') again(failed(how.later));
      if (how === 'asked' && standing.authorizeUrl !== null)
        cancelNext = timers.after(signInAgainMs, () => void connect());
    }
  }

  function take(upstream: Upstream): void {
    current = upstream;
    connectedAt = clock.monotonic();
    stand(connected);
    void upstream.gone.then((why) => {
      if (current === upstream) lost(why);
    });
    refreshLater();
  }

  /** `token`: there is one that was not sent before; `asked`: a person was; `later`: a person cannot be asked yet. */
  async function signIn(
    fault: UpstreamFault,
    signal: AbortSignal,
  ): Promise<'token' | 'asked' | { readonly later: string }> {
    if (deps.auth === null || fault.challenge === null) {
      stand({ ...failed(`The server needs a credential. ${keyWords}`), status: 'needs_reauth' });
      return 'asked';
    }
    const answer = await deps.auth.challenge(authServerOf(server), fault.challenge, signal);
    if (signal.aborted) return 'asked';
    if (answer.is === 'token') return 'token';
    if (answer.is === 'later') return { later: answer.why };
    stand(
      answer.is === 'sign_in'
        ? { status: 'needs_reauth', error: signInWords, authorizeUrl: answer.authorizeUrl }
        : {
            status: 'needs_reauth',
            error: `${answer.why.replace(/(?<![.!?])$/, '.')} ${keyWords}`,
            authorizeUrl: null,
          },
    );
    return 'asked';
  }

  /** Not connected; the next try is automatic. */
  function again(next: Standing): void {
    standing = next;
    cancelRefresh();
    const wait = waits.backoffMs[Math.min(failures, waits.backoffMs.length - 1)] ?? 0;
    failures += 1;
    // Servers that ended together do not start together.
    cancelNext = timers.after(wait * (0.8 + 0.4 * deps.random()), () => void connect());
  }

  function lost(why: string): void {
    const upstream = current;
    current = null;
    if (clock.monotonic() - connectedAt >= steadyMs) failures = 0;
    void upstream?.close();
    if (!closed) again(failed(why));
  }

  function refreshLater(): void {
    cancelRefresh();
    cancelRefresh = timers.after(waits.refreshMs, () => void refresh());
  }

  /** One at a time; a request in between causes one more. */
  function refresh(): Promise<void> {
    asked = true;
    refreshing ??= (async () => {
      while (asked) {
        asked = false;
        await refreshOnce();
      }
      refreshing = null;
    })();
    return refreshing;
  }

  async function refreshOnce(): Promise<void> {
    const upstream = current;
    if (upstream === null) return;
    refreshLater();
    try {
      const list = await upstream.list(running.signal);
      if (current !== upstream) return;
      // A missing sign-in that only calls need stays missing.
      if (standing.status !== 'needs_reauth') standing = connected;
      deps.onList(list);
    } catch (error) {
      const fault = error as UpstreamFault;
      // One that works on a call may have no time for it.
      if (current !== upstream || running.signal.aborted || (fault.kind === 'timeout' && inUse > 0)) return;
      if (fault.kind === 'answer') standing = failed(fault.message);
      else await replace(upstream, fault);
    }
  }

  /** Makes a new connection for one that is of no use any more. */
  async function replace(upstream: Upstream, fault: UpstreamFault): Promise<void> {
    if (current !== upstream) return;
    if (fault.kind === 'session' || fault.kind === 'unauthorized') {
      current = null;
      await upstream.close();
      if (!running.signal.aborted) await connect();
    } else lost(fault.message);
  }

  async function ready(signal: AbortSignal): Promise<Upstream> {
    if (current === null && !closed && standing.status !== 'needs_reauth') await untilAborted(connect(), signal);
    if (current !== null) return current;
    const kind = standing.status === 'needs_reauth' ? 'unauthorized' : 'connection';
    throw new UpstreamFault(kind, standing.error ?? 'The server is not connected.');
  }

  /** A server may list its tools to anybody and still require a sign-in for calls: then this requests the sign-in. */
  async function once<T>(
    upstream: Upstream,
    signal: AbortSignal,
    work: (upstream: Upstream) => Promise<T>,
  ): Promise<T> {
    try {
      return await work(upstream);
    } catch (error) {
      if (!isUnsigned(error as UpstreamFault) || signal.aborted) throw error;
      let fresh = false;
      const asked = signIn(error as UpstreamFault, running.signal).then((is) => {
        fresh = is === 'token';
      });
      await untilAborted(asked, signal);
      if (!fresh || signal.aborted) throw error;
      return await work(upstream);
    }
  }

  return {
    state: () => ({ ...standing, pid: current?.pid ?? null }),
    start: () => void connect(),
    async reconnect() {
      await end();
      if (closed) return;
      running = new AbortController();
      failures = 0;
      standing = connecting;
      void connect();
    },
    async use(signal, work) {
      const upstream = await ready(signal);
      inUse += 1;
      try {
        return await work(upstream);
      } catch (error) {
        const fault = error as UpstreamFault;
        // Neither has reached the tool.
        const refused = fault.kind === 'session' || isUnsigned(fault);
        if (refused) await untilAborted(replace(upstream, fault), signal);
        // Over HTTP one request can fail alone: a list shows whether the server still answers.
        if (fault.kind === 'connection') void refresh();
        // The next call finds a new session where this one is gone; this call may have run, and is not sent again.
        if (fault.doubtsSession) await untilAborted(refresh(), signal);
        if (!refused || signal.aborted) throw error;
        return await once(await ready(signal), signal, work);
      } finally {
        inUse -= 1;
      }
    },
    async close() {
      closed = true;
      await end();
    },
  };

  async function end(): Promise<void> {
    running.abort();
    cancelNext();
    cancelRefresh();
    const upstream = current;
    current = null;
    await Promise.all([upstream?.close(), attempt]);
  }
}

const isUnsigned = (fault: UpstreamFault) => fault.kind === 'unauthorized' && !isForbidden(fault);

/** The server refuses this one call to any caller: neither a new connection nor a sign-in would change it. */
function isForbidden({ challenge }: UpstreamFault): boolean {
  return challenge?.status === 403 && !(challenge.wwwAuthenticate ?? '').includes('insufficient_scope');
}

/** The work continues without this caller. */
async function untilAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  let stop = () => {};
  const stopped = new Promise<void>((resolve) => {
    stop = resolve;
    signal.addEventListener('abort', stop, { once: true });
  });
  await Promise.race([work, stopped]);
  signal.removeEventListener('abort', stop);
}
