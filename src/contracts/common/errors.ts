/** The one closed list of error codes and their form at each edge: an HTTP status, an exit code, a JSON-RPC code. Must not know any area. */
import { z } from 'zod';

export const errorCodes = [
  'refused',
  'not_found',
  'transport',
  'timeout',
  'needs_person',
  'usage',
  'internal',
] as const;
export type ErrorCode = (typeof errorCodes)[number];

/** HTTP status per code. A refusal may carry another status (see {@link refusedStatuses}). */
export const httpStatus: Record<ErrorCode, number> = {
  refused: 403,
  not_found: 404,
  transport: 502,
  timeout: 504,
  needs_person: 409,
  usage: 400,
  internal: 500,
};

/** Statuses that a `refused` may have instead of 403: 401 credential, 409 conflict, 410 expired, 421 Host, 429 rate. */
export const refusedStatuses = [401, 403, 409, 410, 421, 429] as const;
export type RefusedStatus = (typeof refusedStatuses)[number];

/** Process exit code per code. 0 is success. */
export const exitCode: Record<ErrorCode, number> = {
  refused: 1,
  not_found: 2,
  transport: 3,
  timeout: 4,
  needs_person: 5,
  usage: 64,
  internal: 70,
};

/** JSON-RPC code per code, for errors before a message was read: `usage` is "invalid params", an unserved method "method not found". */
export const rpcCode: Record<ErrorCode, number> = {
  refused: -32001,
  not_found: -32601,
  transport: -32003,
  timeout: -32004,
  needs_person: -32005,
  usage: -32602,
  internal: -32603,
};

export const FactoryError = z
  .strictObject({
    error: z.strictObject({
      code: z.enum(errorCodes),
      fact: z.string().meta({ description: 'What happened, with the value in question.' }),
      action: z.string().meta({ description: 'What to do next.' }),
    }),
  })
  .meta({ id: 'FactoryError' });
export type FactoryError = z.infer<typeof FactoryError>;

/** The shape of every area but factory and hosted computers. */
export const PlainError = z.strictObject({ error: z.string(), message: z.string() }).meta({ id: 'PlainError' });
export type PlainError = z.infer<typeof PlainError>;

/**
 * HTTP status where the area's shape is not the factory's and the wire code says more than our own code does (RFC 9110). The
 * factory knows only {@link httpStatus} and {@link refusedStatuses}.
 */
export const plainStatus: Readonly<Record<string, number>> = {
  bad_request: 400,
  method_not_allowed: 405,
  too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  unavailable: 503,
  computer_unavailable: 503,
  push_not_configured: 503,
  model_not_configured: 503,
  browser_crashed: 503,
  display_unavailable: 503,
  computer_starting: 503,
  take_control_first: 423,
  spend_cap_reached: 402,
  phone_not_configured: 503,
  phone_requires_plan: 402,
  too_long: 413,
  daily_limit: 429,
  carrier_refused: 502,
  carrier_unavailable: 503,
};

/** The shape of hosted computers and `/api/v1/computers/*`. */
export const ComputersError = z
  .strictObject({
    error: z.strictObject({ type: z.string(), code: z.string(), message: z.string(), param: z.string().nullable() }),
  })
  .meta({ id: 'ComputersError' });
export type ComputersError = z.infer<typeof ComputersError>;

export interface AppErrorOptions {
  /** Only for `refused`: a status from {@link refusedStatuses}. */
  status?: RefusedStatus;
  /** The code used where the area's shape is `{error, message}` or JSON-RPC; defaults to `code`. */
  wireCode?: string;
  /** Extra top-level members of the answer, such as `approval` beside `error`. */
  extra?: Record<string, unknown>;
  /** In the plain shape the wire code is the whole answer, without a `message`: `{"error": "phone_not_configured"}`. */
  codeAlone?: true;
  /** Seconds, becomes `Retry-After`. */
  retryAfter?: number;
  /** A change may have been stored all the same: a caller that takes this for "nothing happened" does it twice. */
  unknownEnd?: true;
  cause?: unknown;
}

/** The one typed error. `fact` says what happened with the value; `action` says what to do next. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly fact: string;
  readonly action: string;
  readonly options: AppErrorOptions;

  constructor(code: ErrorCode, fact: string, action: string, options: AppErrorOptions = {}) {
    super(fact, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'AppError';
    this.code = code;
    this.fact = fact;
    this.action = action;
    this.options = options;
  }

  get status(): number {
    return this.options.status ?? httpStatus[this.code];
  }

  toFactory(): FactoryError {
    return { error: { code: this.code, fact: this.fact, action: this.action } };
  }

  toPlain(): PlainError {
    return { error: this.options.wireCode ?? this.code, message: `${this.fact} ${this.action}`.trim() };
  }
}
