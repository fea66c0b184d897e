/**
 * The raw requests that every answer of the endpoint is judged by: era × header × body faults, with the HTTP status and
 * JSON-RPC code that the published MCP versions give each. `code` absent: a result, or no body at all.
 */
import { mcpMeta } from '../../../src/contracts/tool-server/mcp.ts';
import type { RawRequest } from '../../support/mcp/raw.ts';

export interface Probe extends RawRequest {
  readonly name: string;
  readonly status: number;
  readonly code?: number;
  /** Whose schema the answer must keep. */
  readonly version?: string;
  /** The id that the answer carries; 1 unless said. */
  readonly id?: string | number | null;
  /** Of the body as it is parsed. */
  readonly result?: Readonly<Record<string, unknown>>;
  readonly data?: unknown;
  /** Required headers are required here. */
  readonly strict?: true;
}

const json = { 'content-type': 'application/json' };
const modern = '2026-07-28';
const latest = '2025-11-25';
const supported = [modern, latest, '2025-06-18', '2025-03-26', '2024-11-05'];

const meta = (version: unknown = modern) => ({ [mcpMeta.version]: version, [mcpMeta.clientCapabilities]: {} });
const rpc = (method: string, params: object = {}, id: unknown = 1) =>
  JSON.stringify({ jsonrpc: '2.0', id, method, params });
/** A request of 2026-07-28 without headers, which may be absent. */
const bare = (method: string, params: object = {}) => ({
  headers: json,
  body: rpc(method, { ...params, _meta: meta() }),
  version: modern,
});
const withHeaders = (method: string, params: object, more: Readonly<Record<string, string>>) => ({
  headers: { ...json, 'mcp-protocol-version': modern, 'mcp-method': method, ...more },
  body: rpc(method, { ...params, _meta: meta() }),
  version: modern,
});
const old = (method: string, params: object = {}, version?: string) => ({
  headers: version === undefined ? json : { ...json, 'mcp-protocol-version': version },
  body: rpc(method, params),
  version: version ?? '2025-03-26',
});
const hello = (protocolVersion: unknown) => ({
  headers: json,
  body: rpc('initialize', { protocolVersion, capabilities: {}, clientInfo: { name: 'probe', version: '1' } }),
});
const text = { name: 'test_simple_text', arguments: {} };
const base64 = (value: string) => `=?base64?${Buffer.from(value).toString('base64')}?=`;
const bodyOf = (body: string, more: Partial<Probe> = {}) => ({ headers: json, body, id: null, ...more });
const deep = (levels: number) =>
  `{"jsonrpc":"2.0","id":1,"method":"ping","params":${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}}`;

export const probes: readonly Probe[] = [
  // Transport.
  { name: 'GET', method: 'GET', status: 405, code: -32601, id: null },
  { name: 'DELETE', method: 'DELETE', status: 405, code: -32601, id: null },
  { name: 'PUT', method: 'PUT', headers: json, body: '{}', status: 405, code: -32601, id: null },
  { name: 'no content type', body: rpc('ping'), status: 415, code: -32602, id: null },
  { name: 'a form', headers: { 'content-type': 'text/plain' }, body: rpc('ping'), status: 415, code: -32602, id: null },
  {
    name: 'a compressed body',
    headers: { ...json, 'content-encoding': 'gzip' },
    body: rpc('ping'),
    status: 415,
    code: -32602,
    id: null,
  },
  {
    name: 'JSON with a charset',
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: rpc('ping'),
    status: 200,
    version: '2025-03-26',
    result: {},
  },
  { ...bare('tools/call', text), name: 'no Accept', status: 200 },
  {
    ...bare('tools/call', text),
    name: 'an Accept of HTML alone',
    headers: { ...json, accept: 'text/html' },
    status: 200,
  },
  {
    ...old('ping'),
    name: 'an Accept of event streams alone',
    headers: { ...json, accept: 'text/event-stream' },
    status: 200,
  },
  {
    ...old('ping'),
    name: 'a foreign Host',
    headers: { ...json, host: 'evil.example' },
    status: 421,
    code: -32001,
    id: null,
  },
  {
    ...old('ping'),
    name: 'a foreign Origin',
    headers: { ...json, origin: 'http://evil.example' },
    status: 403,
    code: -32001,
    id: null,
  },
  {
    ...old('ping'),
    name: 'an old session’s header',
    headers: { ...json, 'mcp-session-id': 'x', 'last-event-id': '7' },
    status: 200,
  },

  // Bodies.
  { ...bodyOf(''), name: 'an empty body', status: 400, code: -32700 },
  { ...bodyOf('{"jsonrpc":'), name: 'half a body', status: 400, code: -32700 },
  { ...bodyOf('hello'), name: 'no JSON', status: 400, code: -32700 },
  { name: 'no UTF-8', headers: json, body: Buffer.from([0x22, 0xff, 0xfe, 0x22]), status: 400, code: -32700, id: null },
  { ...bodyOf('42'), name: 'a number', status: 400, code: -32600 },
  { ...bodyOf('null'), name: 'null', status: 400, code: -32600 },
  { ...bodyOf('{}'), name: 'an empty object', status: 400, code: -32600 },
  { ...bodyOf('[]'), name: 'an empty batch', status: 400, code: -32600 },
  { ...bodyOf(`[${rpc('ping')}]`), name: 'a batch', status: 400, code: -32600 },
  {
    ...bodyOf(`[${rpc('tools/list', { _meta: meta() })}]`, { version: modern }),
    name: 'a modern batch',
    status: 400,
    code: -32600,
  },
  { ...bodyOf('{"id":1,"method":"ping"}', { id: 1 }), name: 'no jsonrpc', status: 400, code: -32600 },
  { ...bodyOf('{"jsonrpc":"1.0","id":1,"method":"ping"}', { id: 1 }), name: 'jsonrpc 1.0', status: 400, code: -32600 },
  { ...bodyOf(rpc('ping', {}, null)), name: 'an id of null', status: 400, code: -32600 },
  { ...bodyOf(rpc('ping', {}, 1.5)), name: 'an id of one and a half', status: 400, code: -32600 },
  { ...bodyOf(rpc('ping', {}, { a: 1 })), name: 'an object as id', status: 400, code: -32600 },
  {
    ...bodyOf('{"jsonrpc":"2.0","id":1,"method":7}', { id: 1 }),
    name: 'a number as method',
    status: 400,
    code: -32600,
  },
  { ...bodyOf('{"jsonrpc":"2.0","id":1,"result":{}}', { id: 1 }), name: 'a response', status: 400, code: -32600 },
  {
    ...bodyOf('{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', { id: 1 }),
    name: 'params as an array',
    status: 400,
    code: -32600,
  },
  { ...bodyOf(deep(63), { id: 1 }), name: '64 levels', status: 200, version: '2025-03-26' },
  { ...bodyOf(deep(64)), name: '65 levels', status: 400, code: -32600 },
  { ...bodyOf('['.repeat(1_000_000)), name: 'a million brackets', status: 400, code: -32600 },
  {
    ...bodyOf('{"jsonrpc":"2.0","id":"__proto__","method":"ping","params":{"__proto__":{"polluted":1}}}', {
      id: '__proto__',
    }),
    name: '__proto__ as key and id',
    status: 200,
    version: '2025-03-26',
    result: {},
  },
  {
    ...bodyOf('{"jsonrpc":"2.0","id":7,"id":8,"method":"tools/list","method":"ping"}', { id: 8 }),
    name: 'keys given twice, of which the last counts',
    status: 200,
    version: '2025-03-26',
    result: {},
  },

  // Notifications.
  { ...bodyOf('{"jsonrpc":"2.0","method":"notifications/initialized"}'), name: 'a legacy notification', status: 202 },
  {
    name: 'a modern notification',
    headers: { ...json, 'mcp-protocol-version': modern },
    body: JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/cancelled',
      params: { _meta: meta(), requestId: 1 },
    }),
    status: 202,
  },

  // The modern envelope.
  { ...bare('server/discover'), name: 'discover', status: 200 },
  {
    name: 'discover without _meta',
    headers: json,
    body: rpc('server/discover'),
    status: 400,
    code: -32602,
    version: modern,
  },
  {
    name: 'the modern header without _meta',
    headers: { ...json, 'mcp-protocol-version': modern },
    body: rpc('tools/list'),
    status: 400,
    code: -32602,
    version: modern,
  },
  {
    name: '_meta without the client’s capabilities',
    headers: json,
    body: rpc('tools/list', { _meta: { [mcpMeta.version]: modern } }),
    status: 400,
    code: -32602,
    version: modern,
  },
  {
    name: 'a version that is a number',
    headers: json,
    body: rpc('tools/list', { _meta: meta(2026) }),
    status: 400,
    code: -32602,
    version: modern,
  },
  {
    name: 'a version that nobody knows',
    headers: { ...json, 'mcp-protocol-version': '2099-01-01' },
    body: rpc('tools/list', { _meta: meta('2099-01-01') }),
    status: 400,
    code: -32022,
    version: modern,
    data: { supported, requested: '2099-01-01' },
  },
  {
    name: 'an old version in the modern place',
    headers: json,
    body: rpc('tools/list', { _meta: meta(latest) }),
    status: 400,
    code: -32022,
    version: modern,
    data: { supported, requested: latest },
  },
  {
    name: 'header and _meta of different versions',
    headers: { ...json, 'mcp-protocol-version': latest },
    body: rpc('tools/list', { _meta: meta() }),
    status: 400,
    code: -32020,
    version: modern,
  },
  ...['initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'subscriptions/listen', 'no/such'].map(
    (method) => ({
      ...bare(method),
      name: `modern ${method}`,
      status: 404,
      code: -32601,
    }),
  ),

  // Headers.
  { ...withHeaders('tools/call', text, { 'mcp-name': text.name }), name: 'matching headers', status: 200 },
  {
    ...withHeaders('tools/call', text, { 'mcp-name': `  ${text.name}\t` }),
    name: 'blanks around a header',
    status: 200,
  },
  { ...withHeaders('tools/call', text, { 'mcp-name': base64(text.name) }), name: 'a name in base64', status: 200 },
  { ...withHeaders('tools/call', text, { 'mcp-name': 'other' }), name: 'another name', status: 400, code: -32020 },
  {
    ...withHeaders('tools/call', text, { 'mcp-name': base64('other') }),
    name: 'another name in base64',
    status: 400,
    code: -32020,
  },
  {
    ...withHeaders('tools/call', text, { 'mcp-name': '=?base64?%%%?=' }),
    name: 'bad base64',
    status: 400,
    code: -32020,
  },
  {
    ...withHeaders('tools/call', text, { 'mcp-name': text.name.toUpperCase() }),
    name: 'a name in another case',
    status: 400,
    code: -32020,
  },
  {
    ...withHeaders('tools/list', {}, { 'mcp-name': 'x' }),
    name: 'a name that the body lacks',
    status: 400,
    code: -32020,
  },
  {
    ...withHeaders('tools/list', {}, { 'mcp-method': 'tools/call' }),
    name: 'another method',
    status: 400,
    code: -32020,
  },
  {
    ...withHeaders('tools/list', {}, { 'mcp-method': 'Tools/List' }),
    name: 'a method in another case',
    status: 400,
    code: -32020,
  },
  {
    ...withHeaders('resources/read', { uri: 'test://static-text' }, { 'mcp-name': 'test://static-text' }),
    name: 'a uri as name',
    status: 200,
  },
  {
    ...withHeaders(
      'tools/call',
      { name: 'dotted_name_tool', arguments: { word: 'x' } },
      { 'mcp-name': 'dotted.name_tool' },
    ),
    name: 'two spellings of one tool',
    status: 200,
  },
  {
    ...old('tools/list', {}, latest),
    name: 'another method in the legacy era',
    headers: { ...json, 'mcp-protocol-version': latest, 'mcp-method': 'tools/call' },
    status: 400,
    code: -32020,
  },
  { ...bare('tools/list'), name: 'no headers where they are required', status: 400, code: -32020, strict: true },
  {
    ...withHeaders('tools/call', text, {}),
    name: 'no Mcp-Name where it is required',
    status: 400,
    code: -32020,
    strict: true,
  },
  {
    ...withHeaders('tools/call', text, { 'mcp-name': text.name }),
    name: 'all headers where they are required',
    status: 200,
    strict: true,
  },
  { ...old('tools/list', {}, latest), name: 'a legacy request where headers are required', status: 200, strict: true },

  // The legacy era.
  ...supported.slice(1).map((version) => ({
    ...hello(version),
    name: `initialize ${version}`,
    status: 200,
    version,
    result: { protocolVersion: version },
  })),
  {
    ...hello('2099-01-01'),
    name: 'initialize of a version that nobody knows',
    status: 200,
    version: '2025-06-18',
    result: { protocolVersion: '2025-06-18' },
  },
  {
    ...hello(modern),
    name: 'initialize of the version without a handshake',
    status: 200,
    version: '2025-06-18',
    result: { protocolVersion: '2025-06-18' },
  },
  { ...old('initialize'), name: 'initialize without a version', status: 200, code: -32602 },
  { ...old('tools/list'), name: 'a list without initialize or header', status: 200 },
  {
    ...old('tools/list', {}, '1999-01-01'),
    name: 'a header that nobody knows',
    status: 400,
    code: -32022,
    version: latest,
    data: { supported, requested: '1999-01-01' },
  },
  { ...old('no/such', {}, latest), name: 'a method that is not there', status: 404, code: -32601 },
  {
    ...old('logging/setLevel', { level: 'info' }, latest),
    name: 'a feature that is not declared',
    status: 404,
    code: -32601,
  },

  // Calls.
  { ...bare('tools/call', { name: 'nowhere' }), name: 'an unknown tool', status: 200, code: -32602 },
  { ...bare('tools/call', { name: 7 }), name: 'a tool that is a number', status: 200, code: -32602 },
  {
    ...bare('tools/call', { name: text.name, arguments: [1] }),
    name: 'arguments as an array',
    status: 200,
    code: -32602,
  },
  {
    ...bare('tools/call', { name: 'test_structured', arguments: { left: 1 } }),
    name: 'arguments against the schema',
    status: 200,
    result: { isError: true },
  },
  { ...bare('tools/call', { name: 'test_internal_failure' }), name: 'a failure inside', status: 200, code: -32603 },
  { ...bare('tools/list', { cursor: 'x' }), name: 'a cursor that was never given', status: 200, code: -32602 },
  { ...bare('tools/list', { cursor: '' }), name: 'an empty cursor', status: 200, code: -32602 },
  { ...bare('prompts/get', { name: 'nowhere' }), name: 'an unknown prompt', status: 200, code: -32602 },
  {
    ...bare('prompts/get', { name: 'test_prompt_with_arguments' }),
    name: 'a prompt without its arguments',
    status: 200,
    code: -32602,
  },
  {
    ...bare('resources/read', { uri: 'test://nowhere' }),
    name: 'an unknown resource',
    status: 200,
    code: -32602,
    data: { uri: 'test://nowhere' },
  },
  {
    ...old('resources/read', { uri: 'test://nowhere' }, latest),
    name: 'an unknown resource in the legacy era',
    status: 200,
    code: -32002,
    data: { uri: 'test://nowhere' },
  },
];
