/**
 * How a failure looks on the wire: one typed error, four shapes. A stack never leaves the process. First user: the
 * dispatcher. Must not know routes or handlers.
 */
import { AppError, plainStatus, rpcCode } from '../../contracts/common/errors.ts';
import type { ErrorShape } from '../../contracts/common/route.ts';

interface Rendered {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;
}

/** Error `type` of hosted computers by status. */
function computersType(status: number): string {
  if (status === 401) return 'authentication_error';
  if (status === 402 || status === 403 || status === 421) return 'permission_error';
  if (status === 404) return 'not_found_error';
  if (status === 409 || status === 423) return 'conflict_error';
  if (status === 429) return 'rate_limit_error';
  return status >= 500 ? 'api_error' : 'invalid_request_error';
}

/** Anything thrown, as the typed error. An unknown error becomes an internal fault whose text stays here. */
export function toAppError(thrown: unknown, requestId: string): AppError {
  if (thrown instanceof AppError) return thrown;
  return new AppError(
    'internal',
    'Something went wrong inside Gantry.',
    `Try again; if it happens again, look for ${requestId} in the log.`,
    { cause: thrown },
  );
}

export function render(error: AppError, shape: ErrorShape): Rendered {
  const headers: Record<string, string> = {};
  if (error.options.retryAfter !== undefined)
    headers['retry-after'] = String(Math.max(1, Math.ceil(error.options.retryAfter)));
  if (error.status === 401) headers['www-authenticate'] = 'Bearer realm="gantry"';
  const extra = error.options.extra;
  if (shape === 'factory') return { status: error.status, headers, body: { ...error.toFactory(), ...extra } };
  const wireCode = error.options.wireCode ?? error.code;
  const status = plainStatus[wireCode] ?? error.status;
  if (shape === 'plain') {
    const body = error.options.codeAlone ? { error: wireCode } : error.toPlain();
    return { status, headers, body: { ...body, ...extra } };
  }
  const message = `${error.fact} ${error.action}`.trim();
  if (shape === 'computers') {
    return {
      status,
      headers,
      body: { error: { type: computersType(status), code: wireCode, message, param: null }, ...extra },
    };
  }
  const data = { code: wireCode, action: error.action, ...extra };
  return { status, headers, body: { jsonrpc: '2.0', id: null, error: { code: rpcCode[error.code], message, data } } };
}
