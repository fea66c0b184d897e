/**
 * `events/list`, `events/subscribe` and `events/unsubscribe`: validates a request and answers it. Must not know how
 * deliveries are sent.
 */
import type { z } from 'zod';
import { rpcCodes } from '../../contracts/tool-server/mcp.ts';
import {
  defaultTtlMs,
  eventCodes,
  maxTtlMs,
  SubscribeParams,
  type SubscribeResult,
} from '../../contracts/tool-server/mcp-events.ts';
import { type Clock, iso } from '../../kit/clock/clock.ts';
import type { Egress } from '../../kit/egress/egress.ts';
import type { JsonObject, RpcAnswer } from '../../kit/mcp/service.ts';
import { webhookKey } from '../../kit/signing/webhook.ts';
import type { SharedStore } from '../../kit/store/shared-store.ts';
import { argumentsProblem, type EdgeServer, listedEvents, offers } from './offered-events.ts';
import {
  maxPerApp,
  type SubscriptionKey,
  type SubscriptionRow,
  type Subscriptions,
  subscriptionId,
} from './subscriptions.ts';
import type { Verification, VerificationFault } from './verification.ts';
import type { EdgeVisit } from './visit.ts';

interface Subscribing {
  list(server: EdgeServer, params: JsonObject): RpcAnswer;
  subscribe(visit: EdgeVisit, params: JsonObject): Promise<RpcAnswer>;
  unsubscribe(visit: EdgeVisit, params: JsonObject): Promise<RpcAnswer>;
}

/** A shorter life would have apps refresh all the time. */
const shortestTtlMs = 5 * 60_000;
const maxUrlLength = 2000;
type Params = z.infer<typeof SubscribeParams>;

export function createSubscribing(deps: {
  readonly store: SharedStore;
  readonly clock: Clock;
  readonly egress: Pick<Egress, 'refusal'>;
  readonly subscriptions: Subscriptions;
  readonly verification: Verification;
  /** Drops this subscription's queue. */
  readonly dropped: (id: string) => void;
}): Subscribing {
  const { store, clock, egress, subscriptions, verification } = deps;

  /** The form that a delivery address must have, whatever is behind it. */
  function urlProblem(url: string): string | null {
    if (url.length > maxUrlLength) return `delivery.url is longer than ${maxUrlLength} characters`;
    if (!URL.canParse(url)) return 'delivery.url is not an address';
    const { username, password } = new URL(url);
    if (username !== '' || password !== '') return 'delivery.url carries a credential';
    if (url.includes('#')) return 'delivery.url has a fragment';
    const refused = egress.refusal(url);
    return refused === null ? null : 'delivery.url must be a public https address';
  }

  function problem(server: EdgeServer, { name, delivery, ...given }: Params): RpcAnswer | null {
    if (!offers(server, name)) {
      return error(eventCodes.notFound, `There is no event ${short(name)}`, { kind: 'event' });
    }
    if (delivery.mode !== 'webhook') {
      const data = { feature: 'deliveryMode', value: delivery.mode };
      return error(eventCodes.unsupported, 'Only webhooks are offered', data);
    }
    const wrong =
      argumentsProblem(server, given.arguments ?? {}) ??
      urlProblem(delivery.url ?? '') ??
      (webhookKey(delivery.secret ?? '') === null
        ? 'delivery.secret must be whsec_ and the base64 of 24 to 64 bytes'
        : null) ??
      (typeof given.maxAgeMs === 'number' && given.maxAgeMs < 0 ? 'maxAgeMs must not be negative' : null);
    return wrong === null ? null : invalid(wrong);
  }

  async function keep(key: SubscriptionKey, secret: string, ttlMs: number | null | undefined): Promise<RpcAnswer> {
    if ((await store.read((tx) => subscriptions.others(tx, key))) >= maxPerApp) return tooMany;
    const { userId, clientId, url } = key;
    const id = subscriptionId(key);
    const fault = await verification.verify({ userId, clientId, url, subscriptionId: id, key: webhookKey(secret)! });
    if (fault !== null) return notVerified(fault);
    const expiresAt = clock.now() + ttlOf(ttlMs);
    const kept = await store.write((tx) => subscriptions.put(tx, key, { secret, expiresAt }));
    if (kept === 'too_many') return tooMany;
    // The queue of an earlier life would hold up this one.
    if (kept.before === null) deps.dropped(id);
    const result: SubscribeResult = {
      id,
      refreshBefore: iso(expiresAt),
      cursor: null,
      truncated: false,
      ...(kept.before === null ? {} : { deliveryStatus: statusOf(kept.before) }),
    };
    return { result };
  }

  return {
    list(server, { cursor }) {
      if (cursor !== undefined && cursor !== null) return invalid('cursor is not one that was given here');
      return { result: { events: listedEvents(server) } };
    },
    async subscribe({ server, app }, params) {
      if (app === null) return forbidden;
      const parsed = SubscribeParams.safeParse(params);
      if (!parsed.success) return invalid(sentence(parsed.error));
      const wrong = problem(server, parsed.data);
      if (wrong !== null) return wrong;
      const { name, delivery, arguments: given = {}, ttlMs } = parsed.data;
      return keep({ ...app, server, event: name, arguments: given, url: delivery.url! }, delivery.secret!, ttlMs);
    },
    async unsubscribe({ server, app }, params) {
      if (app === null) return forbidden;
      const parsed = SubscribeParams.safeParse({
        ...params,
        delivery: { mode: 'webhook', ...(params.delivery as object) },
      });
      if (!parsed.success) return invalid(sentence(parsed.error));
      const { name, delivery, arguments: given = {} } = parsed.data;
      const wrong = argumentsProblem(server, given);
      if (wrong !== null) return invalid(wrong);
      const id = subscriptionId({ ...app, server, event: name, arguments: given, url: delivery.url ?? '' });
      await store.write(function* (tx) {
        const row = yield* subscriptions.find(tx, id);
        if (row !== null && (yield* subscriptions.remove(tx, row))) tx.afterCommit(() => deps.dropped(id));
      });
      return { result: {} };
    },
  };
}

/** Absent: a day; null: the longest there is. */
function ttlOf(given: number | null | undefined): number {
  if (given === undefined) return defaultTtlMs;
  return given === null ? maxTtlMs : Math.trunc(Math.min(Math.max(given, shortestTtlMs), maxTtlMs));
}

function statusOf({ last_delivery_at, last_error, failed_since }: SubscriptionRow) {
  return {
    active: true,
    lastDeliveryAt: last_delivery_at === null ? null : iso(last_delivery_at),
    lastError: last_error,
    ...(failed_since === null ? {} : { failedSince: iso(failed_since) }),
  };
}

const forbidden = error(eventCodes.forbidden, 'Only an app that a person has approved can subscribe');
const tooMany = error(eventCodes.resourceExhausted, `An app may have ${maxPerApp} subscriptions`, {
  limit: 'subscriptions',
  max: maxPerApp,
});

function notVerified(fault: VerificationFault): RpcAnswer {
  if (fault === 'too_often') {
    const data = { limit: 'verifications', retryAfterMs: 60_000 };
    return error(eventCodes.resourceExhausted, 'Too many addresses were verified within a minute', data);
  }
  const data = { reason: fault };
  return error(eventCodes.callbackEndpoint, 'The address did not answer the challenge', data);
}

function error(code: number, message: string, data?: JsonObject): RpcAnswer {
  return { error: { code, message: `${message}.`, ...(data === undefined ? {} : { data }) } };
}

function invalid(what: string): RpcAnswer {
  return error(rpcCodes.invalidParams, `Invalid params: ${what}`);
}

function sentence({ issues }: z.ZodError): string {
  const [issue] = issues;
  return [...(issue?.path ?? []).map(String), issue?.message ?? ''].join(': ');
}

function short(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
