/**
 * Who is told what: subscriptions, and the deliveries of each in order. Retried until a receiver takes it, says 410 or 413, or
 * there were too many attempts; what was given up is sent again when the subscription is refreshed from an earlier cursor.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Faults } from './faults.ts';
import type { Happening, Issues } from './issues.ts';
import type { Principal } from './oauth.ts';
import { RpcFault } from './rpc.ts';
import { type Arguments, matches, withFault } from './shapes.ts';
import { type Message, type PostFault, post, signature } from './webhook.ts';

export interface Delivery {
  readonly subscriptionId: string;
  /** `event`, or the type of a control message. */
  readonly kind: string;
  readonly webhookId: string;
  readonly at: number;
  readonly attempt: number;
  readonly status: number;
  readonly fault?: PostFault;
}

interface Subscription {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly args: Arguments;
  principal: Principal;
  /** Newest first; `until` in ms of those that only still sign. */
  keys: { readonly bytes: Buffer; readonly until: number }[];
  expiresAt: number;
  /** Everything up to here is delivered, waiting in `queue` or in `gaveUp`. */
  seen: number;
  queue: Happening[];
  gaveUp: Happening[];
  running: boolean;
  wake: () => void;
  lastDeliveryAt: number | null;
  lastError: PostFault | null;
  failedSince: number | null;
}

export interface Limits {
  /** ms before each further attempt. */
  readonly retries: readonly number[];
  /** ms that an old secret still signs after a new one came. */
  readonly grace: number;
  /** ms. */
  readonly ttl: { readonly least: number; readonly usual: number; readonly most: number };
  readonly subscriptions: number;
}

export interface Ask {
  readonly name: string;
  readonly args: Arguments;
  readonly url: string;
  readonly key: Buffer;
  readonly cursor: number | null;
  readonly maxAge: number | null;
  /** ms; undefined takes the usual, null the longest. */
  readonly ttl: number | null | undefined;
}

export type Subscriptions = ReturnType<typeof createSubscriptions>;

export function createSubscriptions(deps: {
  readonly issues: Issues;
  readonly faults: Faults;
  readonly limits: Limits;
  readonly now: () => number;
  readonly stands: (principal: Principal) => boolean;
}) {
  const { issues, faults, limits, now } = deps;
  const all = new Map<string, Subscription>();
  const verified = new Set<string>();
  const deliveries: Delivery[] = [];
  const over = new AbortController();

  issues.onHappening((happening) => {
    for (const one of all.values()) {
      one.seen = happening.seq;
      if (!matches(one, happening)) continue;
      one.queue.push(happening);
      void run(one);
    }
  });

  const signed = (one: Pick<Subscription, 'keys'>, id: string, seconds: number, body: string) =>
    signature(
      one.keys.filter((key) => key.until > now()).map((key) => key.bytes),
      id,
      seconds,
      body,
    );

  async function send(one: Subscription, kind: string, message: Message, attempt: number) {
    const answer = await post(message);
    const { status, fault } = answer;
    const at = now();
    deliveries.push({
      subscriptionId: one.id,
      kind,
      webhookId: message.id,
      at,
      attempt,
      status,
      ...(fault === undefined ? {} : { fault }),
    });
    if (kind === 'event' && fault === undefined)
      Object.assign(one, { lastDeliveryAt: at, lastError: null, failedSince: null });
    if (kind === 'event' && fault !== undefined)
      Object.assign(one, { lastError: fault, failedSince: one.failedSince ?? at });
    return answer;
  }

  async function run(one: Subscription): Promise<void> {
    if (one.running) return;
    one.running = true;
    for (let next = one.queue[0]; next !== undefined && alive(one); next = one.queue[0]) {
      const outcome = await deliver(one, next);
      if (outcome === 'over') break;
      one.queue.shift();
      if (outcome === 'given_up') one.gaveUp.push(next);
    }
    one.running = false;
  }

  const alive = (one: Subscription) => all.get(one.id) === one && !over.signal.aborted;

  async function deliver(one: Subscription, happening: Happening): Promise<'settled' | 'given_up' | 'over'> {
    for (let attempt = 1; ; attempt += 1) {
      if (!alive(one)) return 'over';
      if (one.expiresAt <= now()) {
        all.delete(one.id);
        return 'over';
      }
      if (!deps.stands(one.principal)) {
        end(one, { code: -32012, message: 'Forbidden', data: { reason: 'grant_revoked' } });
        return 'over';
      }
      const fault = faults.takeDelivery();
      const cursor = cursorText(Math.min(happening.seq, ...one.gaveUp.map((lost) => lost.seq - 1)));
      const message = withFault(fault, {
        subscriptionId: one.id,
        url: one.url,
        happening,
        cursor,
        seconds: Math.floor(now() / 1_000),
        sign: (id, seconds, body) => signed(one, id, seconds, body),
      });
      const { status, fault: failed } = await send(one, 'event', message, attempt);
      if (failed === undefined && fault === 'resent') await send(one, 'event', message, attempt);
      if (failed === undefined || status === 410 || status === 413) return 'settled';
      const wait = limits.retries[attempt - 1];
      if (wait === undefined) return 'given_up';
      await pause(one, wait);
    }
  }

  /** Until the time is over, or a refresh says that the receiver is there again. */
  function pause(one: Subscription, ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      const stop = () => {
        clearTimeout(timer);
        resolve();
      };
      one.wake = stop;
      over.signal.addEventListener('abort', stop, { once: true });
    });
  }

  function control(one: Subscription, type: string, more: Readonly<Record<string, unknown>>): void {
    const id = `msg_${type}_${randomBytes(8).toString('hex')}`;
    const body = JSON.stringify({ type, ...more });
    void (async () => {
      for (let attempt = 1; !over.signal.aborted; attempt += 1) {
        const seconds = Math.floor(now() / 1_000);
        const message = { url: one.url, id, seconds, body, subscriptionId: one.id };
        const { status, fault } = await send(
          one,
          type,
          { ...message, signature: signed(one, id, seconds, body) },
          attempt,
        );
        const wait = limits.retries[attempt - 1];
        if (fault === undefined || status === 410 || status === 413 || wait === undefined) return;
        await pause(one, wait);
      }
    })();
  }

  function end(one: Subscription, error: { code: number; message: string; data: Record<string, unknown> }): void {
    all.delete(one.id);
    control(one, 'terminated', { error });
  }

  /** Throws -32015 where the receiver does not say the same back. */
  async function verify(one: Subscription): Promise<void> {
    const mark = `${one.principal.user} ${one.principal.client} ${one.url}`;
    if (verified.has(mark)) return;
    const challenge = randomBytes(24).toString('base64url');
    const id = `msg_verification_${randomBytes(8).toString('hex')}`;
    const body = JSON.stringify({ type: 'verification', challenge });
    const seconds = Math.floor(now() / 1_000);
    const message = { url: one.url, id, seconds, body, subscriptionId: one.id };
    const answer = await send(one, 'verification', { ...message, signature: signed(one, id, seconds, body) }, 1);
    const refuse = (reason: string) => new RpcFault(-32015, 'CallbackEndpointError', { reason });
    if (answer.status === 0) throw refuse(answer.fault ?? 'connection_refused');
    if (answer.fault !== undefined || !echoes(answer.text, challenge)) throw refuse('challenge_failed');
    verified.add(mark);
  }

  return {
    /** Throws RpcFault -32013, -32015. */
    async subscribe(principal: Principal, ask: Ask) {
      const id = subscriptionId(principal, ask);
      const before = all.get(id);
      if (before === undefined && all.size >= limits.subscriptions)
        throw new RpcFault(-32013, 'ResourceExhausted', { limit: 'subscriptions', max: limits.subscriptions });
      const fresh: Subscription = before ?? {
        id,
        name: ask.name,
        url: ask.url,
        args: ask.args,
        principal,
        keys: [],
        expiresAt: 0,
        seen: issues.lastSeq(),
        queue: [],
        gaveUp: [],
        running: false,
        wake: () => {},
        lastDeliveryAt: null,
        lastError: null,
        failedSince: null,
      };
      const newest = fresh.keys[0];
      if (newest === undefined || !newest.bytes.equals(ask.key))
        fresh.keys = [
          { bytes: ask.key, until: Number.POSITIVE_INFINITY },
          ...fresh.keys.map((key) => ({ ...key, until: Math.min(key.until, now() + limits.grace) })),
        ].filter((key) => key.until > now());
      await verify(fresh);
      fresh.principal = principal;
      const { least, usual, most } = limits.ttl;
      fresh.expiresAt = now() + (ask.ttl === null ? most : Math.min(most, Math.max(least, ask.ttl ?? usual)));
      const truncated = before === undefined ? start(fresh, ask) : again(fresh, ask);
      all.set(id, fresh);
      fresh.wake();
      void run(fresh);
      return {
        id,
        refreshBefore: new Date(fresh.expiresAt).toISOString(),
        cursor: cursorText(watermark(fresh)),
        truncated,
        ...(before === undefined ? {} : { deliveryStatus: statusOf(fresh) }),
      };
    },
    unsubscribe(principal: Principal, ask: Pick<Ask, 'name' | 'args' | 'url'>): void {
      all.delete(subscriptionId(principal, ask));
    },
    list: () =>
      [...all.values()].map((one) => ({
        id: one.id,
        name: one.name,
        arguments: one.args,
        url: one.url,
        user: one.principal.user,
        expiresAt: one.expiresAt,
        waiting: one.queue.length,
        gaveUp: one.gaveUp.length,
        keys: one.keys.length,
      })),
    /** Its signing secret, for a test that posts in its place. */
    keyOf: (id: string): Buffer | undefined => all.get(id)?.keys[0]?.bytes,
    deliveries: (): readonly Delivery[] => deliveries,
    /** Some events are gone for good: the receiver has to look itself. */
    gap(id: string): void {
      const one = all.get(id);
      if (one !== undefined) control(one, 'gap', { cursor: cursorText(issues.lastSeq()) });
    },
    terminate(id: string, error: { code: number; message: string; data: Record<string, unknown> }): void {
      const one = all.get(id);
      if (one !== undefined) end(one, error);
    },
    /** Tells those whose grant is gone, without waiting for the next event. */
    endForbidden(): void {
      for (const one of [...all.values()])
        if (!deps.stands(one.principal))
          end(one, { code: -32012, message: 'Forbidden', data: { reason: 'grant_revoked' } });
    },
    /** As if the time of all of them were over: they are not told. */
    expireAll(): void {
      all.clear();
    },
    /** Receivers have to show themselves again. */
    forgetVerified(): void {
      verified.clear();
    },
    close(): void {
      over.abort();
    },
  };

  /** Puts what was missed in the queue; true where some of it is gone. */
  function start(one: Subscription, ask: Ask): boolean {
    one.seen = issues.lastSeq();
    if (ask.cursor === null) return false;
    const oldest = ask.maxAge === null ? 0 : now() - ask.maxAge;
    const missed = issues.since(ask.cursor);
    const kept = missed.filter((happening) => Date.parse(happening.timestamp) >= oldest);
    one.queue = kept.filter((happening) => matches(one, happening));
    return ask.cursor < issues.floor() || kept.length < missed.length;
  }

  /** Of a subscription that lives only what was given up is missing. */
  function again(one: Subscription, ask: Ask): boolean {
    const { cursor } = ask;
    if (cursor === null) return false;
    const kept = new Set(issues.since(cursor).map((happening) => happening.seq));
    const back = one.gaveUp.filter((happening) => kept.has(happening.seq));
    const lost = one.gaveUp.some((happening) => happening.seq > cursor && !kept.has(happening.seq));
    one.gaveUp = [];
    // The one at the head may be on its way and stays there.
    const [head, ...rest] = one.queue;
    one.queue = head !== undefined && one.running ? [head, ...back, ...rest] : [...back, ...one.queue];
    return lost;
  }
}

function statusOf(one: Subscription) {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  return {
    active: true,
    lastDeliveryAt: iso(one.lastDeliveryAt),
    lastError: one.lastError,
    ...(one.failedSince === null ? {} : { failedSince: iso(one.failedSince) }),
  };
}

/** Never passes an event that no receiver has taken. */
function watermark(one: Subscription): number {
  return Math.min(one.seen, ...[...one.queue, ...one.gaveUp].map((happening) => happening.seq - 1));
}

export function cursorText(seq: number): string {
  return Buffer.from(`at:${seq}`).toString('base64url');
}

/** undefined: none of ours. */
export function cursorSeq(text: string): number | undefined {
  const [, digits] = /^at:(\d+)$/.exec(Buffer.from(text, 'base64url').toString()) ?? [];
  return digits === undefined ? undefined : Number(digits);
}

function subscriptionId(principal: Principal, ask: Pick<Ask, 'name' | 'args' | 'url'>): string {
  const key = JSON.stringify([principal.user, principal.client, ask.url, ask.name, sorted(ask.args)]);
  return `sub_${createHash('sha256').update(key).digest('hex').slice(0, 24)}`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.map(([name, inner]) => [name, sorted(inner)]);
}

function echoes(text: string, challenge: string): boolean {
  try {
    const said = Buffer.from(String((JSON.parse(text) as { challenge?: unknown }).challenge));
    const wanted = Buffer.from(challenge);
    return said.length === wanted.length && timingSafeEqual(said, wanted);
  } catch {
    return false;
  }
}
