/**
 * Which era and version a request speaks, and whether its headers match its body. Pure. Must not know what methods do.
 */
import type { IncomingHttpHeaders } from 'node:http';
import {
  headerlessVersion,
  legacyVersions,
  mcpHeaders,
  mcpMeta,
  mcpVersions,
  modernVersion,
  rpcCodes,
} from '../../contracts/tool-server/mcp.ts';
import { isObject, type Message, type Refusal, refusal } from './message.ts';
import { safeSpelling } from './names.ts';
import type { Era, JsonObject } from './service.ts';

export interface Spoken {
  readonly era: Era;
  readonly version: string;
  readonly client: { readonly name: string; readonly version: string } | null;
  /** The client's capabilities; empty in the legacy era, whose handshake is not kept. */
  readonly can: JsonObject;
}

const badRequest = 400;
const nothing: JsonObject = Object.freeze({});
const legacy: ReadonlySet<string> = new Set(legacyVersions);

/** `strict`: a request of 2026-07-28 must carry the headers too, as on the public edge. */
export function readEra(message: Message, headers: IncomingHttpHeaders, strict: boolean): Spoken | Refusal {
  const meta = message.params._meta;
  const said = isObject(meta) ? meta[mcpMeta.version] : undefined;
  const header = headerOf(headers, mcpHeaders.version);
  const modern = said !== undefined || header === modernVersion || message.method === 'server/discover';
  const spoken = modern ? readModern(message, meta, said, header, strict) : readLegacy(message, header);
  if ('error' in spoken) return spoken;
  return headerProblem(message, headers, strict && modern) ?? spoken;
}

function readModern(
  message: Message,
  meta: unknown,
  said: unknown,
  header: string | undefined,
  strict: boolean,
): Spoken | Refusal {
  const id = message.id ?? null;
  if (said !== undefined && typeof said !== 'string') return missing(id, mcpMeta.version, 'a string');
  if (said !== undefined && header !== undefined && said !== header) {
    return mismatch(id, `the header MCP-Protocol-Version is ${show(header)}, the body says ${show(said)}`);
  }
  const version = said ?? header;
  if (version !== undefined && version !== modernVersion) return unsupported(id, version);
  if (!isObject(meta) || said === undefined) return missing(id, mcpMeta.version, 'a string');
  const can = meta[mcpMeta.clientCapabilities];
  if (!isObject(can)) return missing(id, mcpMeta.clientCapabilities, 'an object');
  if (strict && header === undefined) return mismatch(id, 'the header MCP-Protocol-Version is missing');
  return { era: 'modern', version: modernVersion, client: clientOf(meta), can };
}

function readLegacy(message: Message, header: string | undefined): Spoken | Refusal {
  if (header !== undefined && !legacy.has(header)) return unsupported(message.id ?? null, header);
  return { era: 'legacy', version: header ?? headerlessVersion, client: null, can: nothing };
}

function clientOf(meta: JsonObject): Spoken['client'] {
  const info = meta[mcpMeta.clientInfo];
  if (!isObject(info)) return null;
  const { name, version } = info;
  return typeof name === 'string' ? { name, version: typeof version === 'string' ? version : '' } : null;
}

/** By method, the parameter that `Mcp-Name` repeats. */
const named: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
};

function headerProblem(message: Message, headers: IncomingHttpHeaders, required: boolean): Refusal | null {
  const id = message.id ?? null;
  const method = headerOf(headers, mcpHeaders.method);
  if (method === undefined ? required : decoded(method) !== message.method) {
    return mismatch(
      id,
      `the header Mcp-Method ${method === undefined ? 'is missing' : `is ${show(method)}`}, the method is ${show(message.method)}`,
    );
  }
  const given = headerOf(headers, mcpHeaders.name);
  const param = named[message.method];
  const value = param === undefined ? undefined : message.params[param];
  if (given === undefined) {
    if (!required || param === undefined || message.id === undefined) return null;
    return mismatch(id, 'the header Mcp-Name is missing');
  }
  const name = decoded(given);
  if (name !== null && typeof value === 'string' && sameName(name, value, message.method)) return null;
  return mismatch(
    id,
    name === null
      ? `the header Mcp-Name is ${show(given)}, which is not base64 of UTF-8`
      : `the header Mcp-Name is ${show(name)}, the body names ${typeof value === 'string' ? show(value) : 'nothing'}`,
  );
}

/** Tools have two spellings, of which header and body may use either. */
function sameName(header: string, body: string, method: string): boolean {
  if (header === body) return true;
  return method === 'tools/call' && (safeSpelling(header) === body || header === safeSpelling(body));
}

const sentinel = /^=\?base64\?(.*)\?=$/s;
const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** The value behind `=?base64?…?=`; null if it is not base64 of UTF-8. */
function decoded(value: string): string | null {
  const inner = sentinel.exec(value)?.[1];
  if (inner === undefined) return value;
  if (!base64.test(inner)) return null;
  try {
    return utf8.decode(Buffer.from(inner, 'base64'));
  } catch {
    return null;
  }
}

/** Surrounding blanks are not part of a value (RFC 9110, 5.5). */
function headerOf(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value.trim() : undefined;
}

function missing(id: Refusal['id'], key: string, what: string): Refusal {
  return refusal(
    id,
    badRequest,
    rpcCodes.invalidParams,
    `Invalid params: params._meta must have ${show(key)}, ${what}.`,
  );
}

function mismatch(id: Refusal['id'], what: string): Refusal {
  return refusal(id, badRequest, rpcCodes.headerMismatch, `Header mismatch: ${what}.`);
}

function unsupported(id: Refusal['id'], requested: string): Refusal {
  return refusal(id, badRequest, rpcCodes.unsupportedVersion, `Unsupported protocol version: ${show(requested)}.`, {
    supported: mcpVersions,
    requested,
  });
}

/** Foreign text, shortened for an error message. */
function show(text: string): string {
  return JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text);
}
