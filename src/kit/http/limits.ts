/**
 * The three rate limits: failed credentials and public pages per address, event streams per principal. First user: the
 * dispatcher. Must not know routes.
 */
import type { IncomingMessage } from 'node:http';
import { RateLimiterMemory } from 'rate-limiter-flexible';
import { AppError } from '../../contracts/common/errors.ts';
import { type AddressOf, countedAs, createAddressOf } from './client-address.ts';
import type { SharedCount } from './shared-count.ts';
import type { Principal } from './types.ts';

export interface LimitSettings {
  /** Bad credentials per minute and address; default 20. */
  readonly failedCredentials?: number;
  /** Public pages per minute and address; default 60. */
  readonly publicPages?: number;
  /** Open event streams per principal; default 64. */
  readonly eventStreams?: number;
}

export interface Limits {
  /**
   * Counts a bad credential: the 401 itself, or 429 once there were too many. Never blocks good credentials: everything on one computer shares an
   * address, and one stale bot must not lock its owner out.
   */
  failed(request: IncomingMessage, refusal: AppError): Promise<AppError>;
  /** Counts a public page; throws 429. */
  page(request: IncomingMessage): Promise<void>;
  /** Takes a place for an event stream; throws 429. Returns a function that gives it back. */
  stream(principal: Principal): () => void;
}

const minute = 60;

export interface LimitDeps {
  /** Default: the other end of the connection. */
  readonly addressOf?: AddressOf | undefined;
  /** Bad credentials of all processes on one database; absent: this is the only process. The other limits apply to each process separately. */
  readonly failures?: SharedCount | undefined;
}

export function createLimits(settings: LimitSettings = {}, deps: LimitDeps = {}): Limits {
  const { addressOf = createAddressOf(), failures } = deps;
  const maxFailures = settings.failedCredentials ?? 20;
  const credentials = new RateLimiterMemory({ points: maxFailures, duration: minute });
  const pages = new RateLimiterMemory({ points: settings.publicPages ?? 60, duration: minute });
  const maxStreams = settings.eventStreams ?? 64;
  const streams = new Map<string, number>();

  /** An address over its limit here is not counted in the database: guessing must not keep it busy. */
  async function failedTooOften(address: string): Promise<number | null> {
    const here = await consume(credentials, address);
    if (here !== null || failures === undefined) return here;
    try {
      const { hits, leftMs } = await failures.hit(`credential ${address}`);
      return hits > maxFailures ? Math.max(1, leftMs) / 1000 : null;
    } catch {
      return null; // The database is away: this process's own count applies.
    }
  }

  return {
    async failed(request, refusal) {
      const wait = await failedTooOften(countedAs(addressOf(request)));
      if (wait === null) return refusal;
      return tooMany('Too many bad credentials came from this address.', 'Wait, then send a valid one.', wait);
    },
    async page(request) {
      const wait = await consume(pages, countedAs(addressOf(request)));
      if (wait !== null) throw tooMany('Too many pages were requested from this address.', 'Wait a moment.', wait);
    },
    stream(principal) {
      const key = `${principal.kind}:${principal.userId}:${principal.agentId ?? ''}`;
      const open = streams.get(key) ?? 0;
      if (open >= maxStreams) {
        throw tooMany(
          `${open} event streams are already open.`,
          'Close one, or raise the limit (GANTRY_EVENT_STREAMS).',
          5,
        );
      }
      streams.set(key, open + 1);
      let given = false;
      return () => {
        if (given) return;
        given = true;
        const left = (streams.get(key) ?? 1) - 1;
        if (left === 0) streams.delete(key);
        else streams.set(key, left);
      };
    },
  };
}

/** Seconds to wait, or null if within the limit. */
async function consume(limiter: RateLimiterMemory, address: string): Promise<number | null> {
  try {
    await limiter.consume(address);
    return null;
  } catch (over) {
    return (over as { msBeforeNext: number }).msBeforeNext / 1000;
  }
}

function tooMany(fact: string, action: string, seconds: number): AppError {
  return new AppError('refused', fact, action, { status: 429, wireCode: 'rate_limited', retryAfter: seconds });
}
