/** The three methods of the events extension: what is asked is checked here, what comes of it is the subscriptions'. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import type { Method } from './mcp.ts';
import { record } from './mcp.ts';
import { RpcFault } from './rpc.ts';
import type { EventShape } from './shapes.ts';
import { cursorSeq, type Subscriptions } from './subscriptions.ts';
import { secretBytes } from './webhook.ts';

export function createEvents(deps: {
  readonly shapes: readonly EventShape[];
  /** Events on a page of the list. */
  readonly pageSize: number;
  readonly subscriptions: Subscriptions;
}): { list: Method; subscribe: Method; unsubscribe: Method } {
  const { subscriptions, pageSize } = deps;
  const shapes = [...deps.shapes].sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  const ajv = new Ajv2020({ strict: false });
  const checks = new Map<string, ValidateFunction>();
  const checkOf = (shape: EventShape): ValidateFunction => {
    const check = checks.get(shape.name) ?? ajv.compile(shape.inputSchema);
    checks.set(shape.name, check);
    return check;
  };
  const invalid = (message: string) => new RpcFault(-32602, message);

  /** What names a subscription, besides who it is. */
  function keyOf(params: Readonly<Record<string, unknown>>) {
    const shape = shapes.find((one) => one.name === params.name);
    if (shape === undefined) throw new RpcFault(-32011, 'NotFound', { kind: 'event' });
    const args = record(params.arguments ?? {});
    if (args === undefined) throw invalid('arguments is not an object');
    const delivery = record(params.delivery);
    if (delivery === undefined) throw invalid('delivery is missing');
    const url = String(delivery.url);
    if (!receiver(url)) throw invalid('delivery.url is no address that can be delivered to');
    return { shape, args, delivery, url };
  }

  return {
    list(params) {
      const from = params.cursor === undefined ? 0 : cursorSeq(String(params.cursor));
      if (from === undefined || from > shapes.length) throw invalid('bad cursor');
      const next = from + pageSize;
      return {
        events: shapes.slice(from, next).map((shape) => ({ ...shape, delivery: ['webhook'] })),
        ...(next < shapes.length ? { nextCursor: Buffer.from(`at:${next}`).toString('base64url') } : {}),
      };
    },
    async subscribe(params, principal) {
      if (principal === undefined) throw new RpcFault(-32012, 'Forbidden', { reason: 'not_signed_in' });
      const { shape, args, delivery, url } = keyOf(params);
      if (delivery.mode !== 'webhook')
        throw new RpcFault(-32014, 'Unsupported', { feature: 'deliveryMode', value: delivery.mode });
      const check = checkOf(shape);
      if (!check(args)) throw invalid(`arguments: ${ajv.errorsText(check.errors)}`);
      const key = secretBytes(String(delivery.secret));
      if (key === undefined) throw invalid('delivery.secret is not whsec_ and base64 of 24 to 64 bytes');
      const cursor = params.cursor === undefined || params.cursor === null ? null : cursorSeq(String(params.cursor));
      if (cursor === undefined) throw invalid('bad cursor');
      return await subscriptions.subscribe(principal, {
        name: shape.name,
        args,
        url,
        key,
        cursor,
        maxAge: typeof params.maxAgeMs === 'number' ? params.maxAgeMs : null,
        ttl: params.ttlMs === null || typeof params.ttlMs === 'number' ? params.ttlMs : undefined,
      });
    },
    unsubscribe(params, principal) {
      if (principal === undefined) throw new RpcFault(-32012, 'Forbidden', { reason: 'not_signed_in' });
      const { shape, args, url } = keyOf(params);
      subscriptions.unsubscribe(principal, { name: shape.name, args, url });
      return {};
    },
  };
}

/** https without credentials or fragment; on this machine http will do. */
function receiver(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const url = new URL(text);
  if (url.username !== '' || url.password !== '' || url.hash !== '') return false;
  return (
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname))
  );
}
