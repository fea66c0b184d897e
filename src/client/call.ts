/**
 * One HTTP call of a declared route: builds the request, reads the answer, turns every failure into an `AppError`. Runs in browsers and in Node: the
 * transport (`fetch`) is passed in. Must not know sockets, files or areas.
 */
import { AppError, type ErrorCode, errorCodes, httpStatus, refusedStatuses } from '../contracts/common/errors.ts';
import type { Route } from '../contracts/common/route.ts';

export type Fetch = (input: string, init?: RequestInit) => Promise<Response>;

export interface CallOptions {
  readonly signal?: AbortSignal;
  /** Sent as `Idempotency-Key`. */
  readonly idempotencyKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface CallInput {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}

export interface Wire {
  /** Without a trailing slash; empty in a browser, where paths are of the page's own origin. */
  readonly baseUrl: string;
  readonly fetch: Fetch;
  /** Asked before each request: credentials that may change while the client lives. */
  credentials(method: string): Promise<Record<string, string>> | Record<string, string>;
  /** Shown in the fact when nobody answers: an address or a socket. */
  readonly where: string;
  /** What to do when nobody answers. */
  readonly ifGone: string;
}

/** `/api/factory/agents/:id` with its values. Throws `usage` for a missing one: a mistake of the caller. */
export function fillPath(path: string, params: Readonly<Record<string, unknown>> = {}): string {
  return path.replace(/:([A-Za-z][A-Za-z0-9]*)/g, (_, name: string) => {
    const value = params[name];
    if (value === undefined || value === '') {
      throw new AppError('usage', `The ${name} of ${path} is missing.`, `Give the ${name}.`);
    }
    return encodeURIComponent(String(value));
  });
}

export function queryString(query: Readonly<Record<string, unknown>> = {}): string {
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  if (pairs.length === 0) return '';
  return `?${new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)])).toString()}`;
}

/** Opens the request and checks its status; the body is still unread. */
export async function openRoute(
  wire: Wire,
  route: Route,
  input: CallInput,
  options: CallOptions = {},
): Promise<Response> {
  const url = wire.baseUrl + fillPath(route.path, input.params) + queryString(input.query);
  const headers: Record<string, string> = {
    accept: route.kind === 'sse' ? 'text/event-stream' : 'application/json',
    ...(await wire.credentials(route.method)),
    ...options.headers,
  };
  if (input.body !== undefined) headers['content-type'] = 'application/json';
  if (options.idempotencyKey !== undefined) headers['idempotency-key'] = options.idempotencyKey;
  let response: Response;
  try {
    response = await wire.fetch(url, {
      method: route.method,
      headers,
      body: input.body === undefined ? undefined : JSON.stringify(input.body),
      signal: options.signal,
      credentials: 'same-origin',
      cache: 'no-store',
    });
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    if (cause instanceof AppError) throw cause;
    throw new AppError('transport', `Nobody answers at ${wire.where}.`, wire.ifGone, { cause });
  }
  if (response.status >= 400) throw await readError(response, wire);
  return response;
}

export async function callRoute(
  wire: Wire,
  route: Route,
  input: CallInput,
  options: CallOptions = {},
): Promise<unknown> {
  const response = await openRoute(wire, route, input, options);
  if (response.status === 204) return undefined;
  try {
    return (await response.json()) as unknown;
  } catch (cause) {
    if (options.signal?.aborted) throw cause;
    throw new AppError(
      'transport',
      `The answer of ${wire.where} to ${route.method} ${route.path} could not be read.`,
      'Try again.',
      { cause },
    );
  }
}

/**
 * Reads both shapes of an error: `{error: {code, fact, action}}` and `{error, message}`. The status decides about
 * others.
 */
async function readError(response: Response, wire: Wire): Promise<AppError> {
  const requestId = response.headers.get('x-request-id');
  const retryAfter = Number(response.headers.get('retry-after')) || undefined;
  const status = refusedStatuses.find((one) => one === response.status);
  const text = await response.text().catch(() => '');
  let body: Record<string, unknown> = {};
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) body = parsed as Record<string, unknown>;
  } catch {
    // Not JSON, for example a proxy's page: only the status is known.
  }
  const { error, ...rest } = body;
  const extra = { ...rest, ...(requestId === null ? {} : { requestId }), httpStatus: response.status };
  if (typeof error === 'object' && error !== null) {
    // Computers say a message where the factory says a fact and an action.
    const { code, fact, action, message } = error as Record<string, unknown>;
    const known = errorCodes.find((one) => one === code) ?? codeOfStatus(response.status);
    return new AppError(known, String(fact ?? message ?? `Status ${response.status}.`), String(action ?? ''), {
      status,
      extra,
      retryAfter,
    });
  }
  const fact = typeof body.message === 'string' ? body.message : `${wire.where} answered ${response.status}.`;
  const wireCode = typeof error === 'string' ? error : undefined;
  return new AppError(codeOfStatus(response.status), fact, '', { status, wireCode, extra, retryAfter });
}

function codeOfStatus(status: number): ErrorCode {
  if (refusedStatuses.some((one) => one === status)) return 'refused';
  const exact = errorCodes.find((code) => httpStatus[code] === status);
  if (exact !== undefined) return exact;
  if (status === 503) return 'transport';
  return status >= 500 ? 'internal' : 'usage';
}
