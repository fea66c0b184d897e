/**
 * The carrier's own client, loaded with the first request and limited to one attempt: by default it retries a POST twice, and so could send a text or
 * buy a number three times. Turns its errors into {@link CarrierFault}s. Must not know any resource.
 */
import type Telnyx from 'telnyx';
import { CarrierFault } from '../port.ts';
import { type Asked, faultOf } from './faults.ts';

export interface TelnyxOptions {
  /** With its version, `https://api.telnyx.com/v2`. */
  readonly baseUrl: string;
  readonly apiKey: string;
  /** The voice application of our numbers. */
  readonly connectionId: string;
  /** The name in search results. */
  readonly name: 'telnyx' | 'simulator';
  /** Where receipts of texts go before the profile's own address, with the text's tag; absent: only to the profile's. */
  readonly receiptsUrl?: string;
  readonly fetch?: typeof fetch;
}

interface How {
  readonly asked: Asked;
  /** The request changes nothing: a missing answer leaves nothing uncertain. */
  readonly reads?: true;
  /** Values of the request that must not appear in messages. */
  readonly secrets?: readonly (string | undefined)[];
}

export interface TelnyxClient {
  /** One request. Throws only {@link CarrierFault}. */
  ask<T>(how: How, request: (telnyx: Telnyx) => Promise<T>): Promise<T>;
}

const timeoutMs = 10_000;

/** Errors before anything was sent: the request was certainly not done. */
const neverSent = new Set([
  ...['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'UND_ERR_CONNECT_TIMEOUT'],
  ...['CERT_HAS_EXPIRED', 'DEPTH_ZERO_SELF_SIGNED_CERT', 'ERR_TLS_CERT_ALTNAME_INVALID', 'ERR_INVALID_URL'],
]);

export function createTelnyxClient(options: TelnyxOptions): TelnyxClient {
  let loaded: Promise<Telnyx> | null = null;
  // The next request tries again to load a damaged build.
  const load = () => {
    loaded ??= open(options).catch((error: unknown) => {
      loaded = null;
      throw error;
    });
    return loaded;
  };
  return {
    async ask(how, request) {
      const telnyx = await load();
      try {
        return await request(telnyx);
      } catch (error) {
        throw error instanceof CarrierFault ? error : asFault(error, how);
      }
    },
  };
}

async function open({ baseUrl, apiKey, fetch: own }: TelnyxOptions): Promise<Telnyx> {
  const { default: Client } = await import('telnyx');
  return new Client({
    baseURL: baseUrl.replace(/\/$/, ''),
    apiKey,
    // Not from the environment of this program.
    publicKey: null,
    clientID: null,
    clientSecret: null,
    logLevel: 'off',
    maxRetries: 0,
    timeout: timeoutMs,
    ...(own === undefined ? {} : { fetch: own }),
  });
}

function asFault(error: unknown, { asked, reads, secrets = [] }: How): CarrierFault {
  const { status, error: body, headers } = error as { status?: unknown; error?: unknown; headers?: Headers };
  if (typeof status === 'number') {
    const retryAfter = Number(headers?.get('retry-after') ?? Number.NaN);
    const fault = faultOf(
      { status, body, retryAfter: Number.isFinite(retryAfter) && retryAfter >= 0 ? retryAfter : null },
      asked,
      secrets.filter((secret) => secret !== undefined),
    );
    return reads === true && fault.kind === 'unknown' ? again(fault) : fault;
  }
  // The client's messages for a refusal quote the whole body: they are not passed on.
  if (reads === true || neverSent.has(codeIn(error))) {
    return new CarrierFault('service', 'The carrier could not be reached.', { code: codeIn(error) });
  }
  return new CarrierFault('unknown', 'The carrier did not answer as it should.', { code: codeIn(error) });
}

const again = ({ message, code, fields, retryAfter }: CarrierFault) =>
  new CarrierFault('service', message, { code, fields, retryAfter });

/** The system's error code, at any depth of the thrown error. */
function codeIn(error: unknown): string {
  for (let at: unknown = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1) {
    const { code } = at as { code?: unknown };
    if (typeof code === 'string') return code;
  }
  return '';
}

/** The registry answers with a flat object, everything else inside `data`. The carrier's documentation shows both for the registry. */
export function inner<T extends object>(body: T | { data?: T } | null | undefined): T {
  const given = (body ?? {}) as { data?: unknown };
  return (typeof given.data === 'object' && given.data !== null ? given.data : given) as T;
}

/** A required part of an answer. Without it, the step was done with an unknown result, and is looked up. */
export function needed<T>(value: T | null | undefined, what: string): T {
  if (value !== undefined && value !== null && value !== '') return value;
  throw new CarrierFault('unknown', `The carrier answered without ${what}.`);
}

/** Limit of list entries to look through. */
export async function first<T>(list: AsyncIterable<T>, max = 250): Promise<T[]> {
  const found: T[] = [];
  for await (const one of list) {
    found.push(one);
    if (found.length >= max) break;
  }
  return found;
}

/** A resource that is gone already counts as removed. */
export async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof CarrierFault && (error.kind === 'not_found' || error.kind === 'gone'))) throw error;
  }
}
