/** Answers requests with one JSON body: runs the handler, once for each idempotency key, and checks what it says. Must not know streams. */
import type { ServerResponse } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';
import type { ErrorShape, Route } from '../../contracts/common/route.ts';
import { baseHeaders } from './base-headers.ts';
import type { RequestContext } from './context.ts';
import { render } from './faults.ts';
import { fingerprint, type Idempotency, type StoredAnswer } from './idempotency.ts';
import type { Mounted } from './mount.ts';
import type { Answer, Principal } from './types.ts';

const idempotencyKey = /^[\x21-\x7e]{1,255}$/;

export function createJsonAnswer(options: {
  readonly ids: { next(prefix: string): string };
  readonly idempotency?: Idempotency | undefined;
}) {
  return answer;

  async function answer(
    mounted: Mounted,
    principal: Principal,
    context: RequestContext,
    requestId: string,
  ): Promise<void> {
    const { route, bound } = mounted;
    let extra: Readonly<Record<string, string>> | undefined;
    const run = async (seed: string | null = null): Promise<StoredAnswer> => {
      context.seed = seed;
      const given = (await bound.handler(context as never)) as Answer<Route>;
      const status = given.status ?? mounted.defaultStatus;
      extra = given.headers;
      mounted.check(status, given.body, requestId);
      return { status, text: given.body === undefined ? '' : JSON.stringify(given.body) };
    };
    const key = route.idempotent ? context.request.headers['idempotency-key'] : undefined;
    const result =
      key === undefined || isDryRun(context) ? await run() : await runOnce(route, principal, context, key, run);
    send(context.response, result.status, result.text, requestId, extra);
  }

  async function runOnce(
    route: Route,
    principal: Principal,
    context: RequestContext,
    key: string | string[],
    run: (seed: string | null) => Promise<StoredAnswer>,
  ): Promise<StoredAnswer> {
    if (typeof key !== 'string' || !idempotencyKey.test(key)) {
      throw new AppError(
        'usage',
        'Idempotency-Key must have 1 to 255 visible ASCII characters.',
        'Send another key, such as a UUID.',
        { wireCode: 'bad_request' },
      );
    }
    const caller = `${principal.userId}/${principal.agentId ?? ''}`;
    const { aliasOf: same } = route;
    const path = pathOf(context.request.url ?? '');
    const print = fingerprint(same === undefined ? path : path.slice(same.prefix.length), context.body);
    const request = { caller, op: same?.op ?? route.op, key, fingerprint: print };
    return options.idempotency!.once(
      route.idempotent === 'by id' ? { ...request, seed: options.ids.next('seed').slice('seed_'.length) } : request,
      run,
    );
  }
}

function send(
  response: ServerResponse,
  status: number,
  text: string,
  requestId: string,
  extra?: Readonly<Record<string, string>>,
): void {
  if (text === '') {
    response.writeHead(status, { ...baseHeaders, 'x-request-id': requestId, ...extra });
    response.end();
    return;
  }
  response.writeHead(status, {
    ...baseHeaders,
    'content-type': 'application/json; charset=utf-8',
    'content-length': Buffer.byteLength(text),
    'x-request-id': requestId,
    ...extra,
  });
  response.end(text);
}

export function fail(
  response: ServerResponse,
  error: AppError,
  shape: ErrorShape,
  requestId: string,
  extra?: Readonly<Record<string, string>>,
): void {
  const { status, body, headers } = render(error, shape);
  send(response, status, JSON.stringify(body), requestId, { ...headers, ...extra });
}

function isDryRun(context: RequestContext): boolean {
  const { body, query } = context as { body?: { dryRun?: unknown }; query?: { dryRun?: unknown } };
  return body?.dryRun === true || query?.dryRun === true;
}

export function pathOf(target: string): string {
  const end = target.search(/[?#]/);
  return end === -1 ? target : target.slice(0, end);
}
