/**
 * A shop as an MCP server with one tool and one event, without any package. It serves MCP at POST /mcp, takes orders at POST /orders, and posts each order,
 * signed, to whoever subscribed. Start it with `node server.mjs [port]`. It asks nobody to sign in and forgets everything when it ends.
 */
import { createHash, createHmac } from 'node:crypto';
import { createServer } from 'node:http';

const lifetimeMs = 60 * 60_000;
/** Pauses before further attempts to deliver an event. */
const pausesMs = [1_000, 5_000, 30_000, 120_000];
const orders = [];
/** By id: `{id, country, url, secret, until, sent}`; `sent` settles when the last event is delivered or given up. */
const subscriptions = new Map();

const text = { type: 'string', minLength: 1 };
const onlyCountry = { type: 'object', properties: { country: text }, additionalProperties: false };
const tools = [
  {
    name: 'list_orders',
    description: 'Lists the orders, or only those from one country.',
    annotations: { readOnlyHint: true },
    inputSchema: onlyCountry,
  },
];
const order = {
  type: 'object',
  properties: { number: { type: 'integer' }, item: text, country: text },
  required: ['number', 'item', 'country'],
};
const events = [
  {
    name: 'order.placed',
    description: 'Somebody placed an order.',
    delivery: ['webhook'],
    inputSchema: onlyCountry,
    payloadSchema: { type: 'object', properties: { order }, required: ['order'] },
  },
];

const methods = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    capabilities: { tools: {}, events: {} },
    serverInfo: { name: 'shop', version: '1.0.0' },
  }),
  ping: () => ({}),
  'tools/list': () => ({ tools }),
  'tools/call'({ name, arguments: { country } = {} }) {
    if (name !== 'list_orders') throw fault(-32602, `There is no tool ${name}.`);
    return { content: [{ type: 'text', text: JSON.stringify(orders.filter(isFrom(country))) }] };
  },
  'events/list': () => ({ events }),
  /** The same event, arguments and address again renew the subscription, and may bring a new secret. */
  'events/subscribe'(params) {
    const { delivery, arguments: { country } = {} } = params;
    if (delivery.mode !== 'webhook') throw fault(-32014, 'Events are only posted to a webhook.');
    const id = idOf(params);
    const until = Date.now() + lifetimeMs;
    const { sent = Promise.resolve() } = subscriptions.get(id) ?? {};
    subscriptions.set(id, { id, country, url: delivery.url, secret: delivery.secret, until, sent });
    return { id, refreshBefore: new Date(until).toISOString(), cursor: null, truncated: false };
  },
  'events/unsubscribe'(params) {
    subscriptions.delete(idOf(params));
    return {};
  },
};

function idOf({ name, arguments: given = {}, delivery }) {
  if (name !== 'order.placed') throw fault(-32011, `There is no event ${name}.`);
  return createHash('sha256')
    .update(JSON.stringify([name, given.country, delivery.url]))
    .digest('hex');
}

const isFrom = (country) => (one) => country === undefined || one.country === country;

function fault(code, message) {
  return Object.assign(new Error(message), { code });
}

function place({ item, country }) {
  const placed = { number: orders.length + 1, item: String(item), country: String(country) };
  orders.push(placed);
  const event = {
    eventId: `order-${placed.number}`,
    name: 'order.placed',
    timestamp: new Date().toISOString(),
    data: { order: placed },
  };
  for (const { id, country: wanted } of subscriptions.values()) {
    if (!isFrom(wanted)(placed)) continue;
    // One after the other, so that the orders arrive in their order.
    const { sent } = subscriptions.get(id);
    subscriptions.get(id).sent = sent.then(() => deliver(id, event));
  }
  return placed;
}

/** Until the receiver takes it or refuses it for good, or the subscription has ended. */
async function deliver(id, event) {
  for (const pauseMs of [0, ...pausesMs]) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    const subscription = subscriptions.get(id);
    if (subscription === undefined || subscription.until < Date.now()) return;
    const status = await post(subscription, event);
    if (status >= 200 && status < 300) return;
    if (status === 410) subscriptions.delete(id);
    if (status === 410 || status === 413) return;
  }
}

/** Signed as Standard Webhooks says; 0: nobody answered. */
async function post({ id, url, secret }, event) {
  const body = JSON.stringify(event);
  const seconds = Math.floor(Date.now() / 1_000);
  const key = Buffer.from(secret.replace('whsec_', ''), 'base64');
  const signature = createHmac('sha256', key).update(`${event.eventId}.${seconds}.${body}`).digest('base64');
  try {
    const answer = await fetch(url, {
      method: 'POST',
      redirect: 'manual',
      headers: {
        'content-type': 'application/json',
        'webhook-id': event.eventId,
        'webhook-timestamp': String(seconds),
        'webhook-signature': `v1,${signature}`,
        'x-mcp-subscription-id': id,
      },
      body,
    });
    return answer.status;
  } catch {
    return 0;
  }
}

function answer({ id, method, params = {} }) {
  try {
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (run === undefined) throw fault(-32601, `There is no method ${method}.`);
    return { jsonrpc: '2.0', id, result: run(params) };
  } catch (error) {
    return { jsonrpc: '2.0', id, error: { code: error.code ?? -32603, message: error.message } };
  }
}

const server = createServer(async (request, response) => {
  const json = (status, body) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  const parts = [];
  for await (const part of request) parts.push(part);
  if (request.method !== 'POST') return json(405, { error: 'Only POST is served.' });
  try {
    const body = JSON.parse(Buffer.concat(parts).toString());
    if (request.url === '/orders') json(201, place(body));
    else if (request.url !== '/mcp') json(404, { error: 'There is /mcp and /orders.' });
    // A notification has no id and gets no answer.
    else if (body.id === undefined) response.writeHead(202).end();
    else json(200, answer(body));
  } catch {
    json(400, { error: 'Send JSON.' });
  }
});
server.listen(Number(process.argv[2] ?? 4100), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/mcp`);
});
