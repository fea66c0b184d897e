/** The carrier's refusals, in each of the error shapes that its APIs use. Must not know what is refused. */

export class Refusal extends Error {
  readonly status: number;
  readonly body: unknown;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, body: unknown, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.body = body;
    this.headers = headers;
  }
}

interface RefusalMore {
  readonly pointer?: string;
  readonly retryAfter?: number;
}

/** The usual shape: `{errors: [{code, title, detail, source}]}`. */
export function refused(status: number, code: string, title: string, detail = title, more: RefusalMore = {}): Refusal {
  const source = more.pointer === undefined ? {} : { source: { pointer: more.pointer } };
  return new Refusal(
    status,
    { errors: [{ code, title, detail, ...source }] },
    `${code} ${detail}`,
    more.retryAfter === undefined ? {} : { 'retry-after': String(more.retryAfter) },
  );
}

/** The response of campaignBuilder without funds: one error, not in a list. */
export function refusedFlat(status: number, code: string, title: string, detail = title): Refusal {
  return new Refusal(status, { code, title, detail }, `${code} ${detail}`);
}

/** The response of the 10DLC routes to an unreadable body. */
export function unreadable(field: string, msg: string, type = 'value_error'): Refusal {
  return new Refusal(422, { detail: [{ loc: ['body', field], msg, type }] }, `${field}: ${msg}`);
}

export function notFound(what: string): Refusal {
  return refused(404, '10005', 'Resource not found', `The requested ${what} could not be found.`);
}
