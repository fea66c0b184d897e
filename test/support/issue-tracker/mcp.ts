/**
 * The tracker as a server of tools and events: one POST endpoint for both eras, plain JSON, no sessions. Owns the envelopes
 * and their codes; what the methods do is its callers'.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyOf, json } from './exchange.ts';
import type { AnswerFault } from './faults.ts';
import type { Principal } from './oauth.ts';
import { RpcFault } from './rpc.ts';

type Json = Readonly<Record<string, unknown>>;
/** Answers the result's own fields. */
export type Method = (params: Json, principal: Principal | undefined) => Promise<Json> | Json;

const modern = '2026-07-28';
const legacy = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'];
const metaKey = (name: string) => `io.modelcontextprotocol/${name}`;
const serverInfo = { name: 'issue-tracker', title: 'The issue tracker', version: '1.0.0' };
/** Either is looked for by some clients. */
const capabilities = { tools: {}, events: {}, extensions: { [metaKey('events')]: {} } };
/** Operations whose answers may be kept. */
const kept = ['server/discover', 'tools/list'];

export interface Endpoint {
  serve(request: IncomingMessage, response: ServerResponse, principal: Principal | undefined): Promise<void>;
}

export function createEndpoint(
  methods: Readonly<Record<string, Method>>,
  takeFault: (method: string) => AnswerFault | undefined,
): Endpoint {
  async function answer(message: Json, headers: IncomingMessage['headers'], principal: Principal | undefined) {
    const method = String(message.method);
    const params = record(message.params) ?? {};
    const meta = record(params._meta);
    const version = headers['mcp-protocol-version'];
    const isModern =
      meta?.[metaKey('protocolVersion')] !== undefined || version === modern || method === 'server/discover';
    if (isModern) checkModern(method, params, meta, headers);
    else if (version !== undefined && !legacy.includes(String(version))) throw unserved(String(version));
    const result = await call(method, params, isModern, principal);
    if (!isModern) return result;
    const caching = kept.includes(method) ? { ttlMs: 0, cacheScope: 'private' } : {};
    return { resultType: 'complete', ...result, ...caching, _meta: { [metaKey('serverInfo')]: serverInfo } };
  }

  async function call(method: string, params: Json, isModern: boolean, principal: Principal | undefined) {
    if (isModern && method === 'server/discover') return { supportedVersions: [modern, ...legacy], capabilities };
    if (!isModern && method === 'ping') return {};
    if (!isModern && method === 'initialize') {
      const asked = String(params.protocolVersion);
      return { protocolVersion: legacy.includes(asked) ? asked : '2025-06-18', capabilities, serverInfo };
    }
    const run = Object.hasOwn(methods, method) ? methods[method] : undefined;
    if (run === undefined) throw new RpcFault(-32601, `Method not found: ${method}`, undefined, 404);
    return await run(params, principal);
  }

  return {
    async serve(request, response, principal) {
      if (request.method !== 'POST') {
        response.writeHead(405, { allow: 'POST' }).end();
        return;
      }
      if (!/^application\/json\b/.test(request.headers['content-type'] ?? ''))
        return json(response, 415, refusal(null, -32000, 'Send application/json'));
      let message: Json | undefined;
      try {
        message = record(JSON.parse(await bodyOf(request)));
      } catch {
        return json(response, 400, refusal(null, -32700, 'Parse error'));
      }
      const id = message?.id;
      const proper = message?.jsonrpc === '2.0' && typeof message.method === 'string' && id !== null;
      if (message === undefined || !proper) return json(response, 400, refusal(null, -32600, 'Invalid Request'));
      if (id === undefined) {
        response.writeHead(202).end();
        return;
      }
      const fault = takeFault(String(message.method));
      if (fault !== undefined) return misbehave(fault, id, response);
      try {
        json(response, 200, { jsonrpc: '2.0', id, result: await answer(message, request.headers, principal) });
      } catch (error) {
        const known = error instanceof RpcFault ? error : new RpcFault(-32603, 'Internal error');
        json(response, known.status, refusal(id, known.code, known.message, known.data));
      }
    },
  };
}

function checkModern(method: string, params: Json, meta: Json | undefined, headers: IncomingMessage['headers']): void {
  const bad = (message: string) => new RpcFault(-32602, message, undefined, 400);
  const version = meta?.[metaKey('protocolVersion')];
  if (typeof version !== 'string') throw bad('_meta has no protocolVersion');
  if (version !== modern) throw unserved(version);
  if (record(meta?.[metaKey('clientCapabilities')]) === undefined) throw bad('_meta has no clientCapabilities');
  const same = (name: string, value: unknown) => {
    if (plain(headers[name]) !== value)
      throw new RpcFault(-32020, `The header ${name} does not say what the body says`, undefined, 400);
  };
  same('mcp-protocol-version', version);
  same('mcp-method', method);
  if (method === 'tools/call') same('mcp-name', params.name);
}

/** A header's value; `=?base64?…?=` is taken apart. */
function plain(header: string | string[] | undefined): string | undefined {
  const value = typeof header === 'string' ? header.trim() : undefined;
  const [, encoded] = /^=\?base64\?(.*)\?=$/.exec(value ?? '') ?? [];
  return encoded === undefined ? value : Buffer.from(encoded, 'base64').toString('utf8');
}

function unserved(requested: string): RpcFault {
  const data = { supported: [modern, ...legacy], requested };
  return new RpcFault(-32022, 'Unsupported protocol version', data, 400);
}

function refusal(id: unknown, code: number, message: string, data?: Json) {
  return { jsonrpc: '2.0', id, error: { code, message, ...(data === undefined ? {} : { data }) } };
}

export function misbehave(fault: AnswerFault, id: unknown, response: ServerResponse): void {
  const cut = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"resu`;
  if (fault === 'rate_limited') json(response, 429, { error: 'too many requests' }, { 'retry-after': '2' });
  else if (fault === 'unavailable') json(response, 503, { error: 'down for maintenance' });
  else if (fault === 'wrong_shape')
    json(response, 200, { jsonrpc: '2.0', id, result: { events: 7, id: [], tools: 'none' } });
  else if (fault === 'garbage' || fault === 'cut_short')
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(fault === 'cut_short' ? cut : '<html>\u0000 not json at all');
  // `hang`: nobody answers, and the connection stays until the tracker closes.
}

export function record(value: unknown): Json | undefined {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : undefined;
}
