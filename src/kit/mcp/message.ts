/**
 * Parses a body into one JSON-RPC message (JSON-RPC 2.0). Nothing here recurses over the input, so that deep nesting cannot exhaust the stack. Must
 * not know methods, eras or headers.
 */
import { isUtf8 } from 'node:buffer';
import { rpcCodes } from '../../contracts/tool-server/mcp.ts';
import { maxDepth } from '../http/body.ts';
import type { JsonObject, RpcError, RpcId } from './service.ts';

/** The error of a request and the id to report it under; null if the id could not be read. */
export interface Refusal {
  readonly id: RpcId | null;
  readonly error: RpcError & { readonly status: number };
}

export interface Message {
  /** Undefined for a notification. */
  readonly id: RpcId | undefined;
  readonly method: string;
  readonly params: JsonObject;
}

export function refusal(id: RpcId | null, status: number, code: number, message: string, data?: unknown): Refusal {
  return { id, error: data === undefined ? { code, message, status } : { code, message, status, data } };
}

const badRequest = 400;

export function readMessage(body: Buffer): Message | Refusal {
  const { parse, invalidRequest } = rpcCodes;
  if (body.length === 0) return refusal(null, badRequest, parse, 'Parse error: the body is empty.');
  // Checked before parsing: a body of brackets only would make the parser hold a state for each.
  if (body.length > maxDepth * 2 && nestsDeeper(body, maxDepth)) {
    return refusal(null, badRequest, invalidRequest, `Invalid Request: the body nests deeper than ${maxDepth} levels.`);
  }
  let value: unknown;
  try {
    if (!isUtf8(body)) return refusal(null, badRequest, parse, 'Parse error: the body is not UTF-8.');
    value = JSON.parse(body.toString());
  } catch {
    return refusal(null, badRequest, parse, 'Parse error: the body is not JSON.');
  }
  return checked(value);
}

function checked(value: unknown): Message | Refusal {
  const invalid = (id: RpcId | null, what: string) =>
    refusal(id, badRequest, rpcCodes.invalidRequest, `Invalid Request: ${what}.`);
  if (Array.isArray(value)) return invalid(null, 'batches are not supported; send one request per body');
  if (!isObject(value)) return invalid(null, 'the body is not a JSON-RPC message');
  const { id, method, params } = value;
  const readable = isId(id) ? id : null;
  if (value.jsonrpc !== '2.0') return invalid(readable, 'jsonrpc must be "2.0"');
  if (typeof method !== 'string' || method === '') {
    const response = 'result' in value || 'error' in value;
    return invalid(readable, response ? 'nothing was asked that this could answer' : 'method must be a string');
  }
  if (id !== undefined && readable === null) return invalid(null, 'id must be a string or an integer');
  if (params !== undefined && !isObject(params)) return invalid(readable, 'params must be an object');
  return { id: readable ?? undefined, method, params: params ?? nothing };
}

const nothing: JsonObject = Object.freeze({});

function isId(id: unknown): id is RpcId {
  return typeof id === 'string' || Number.isSafeInteger(id);
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const quote = 0x22;
const backslash = 0x5c;

/** Counts brackets outside of strings; the result means nothing for invalid JSON, which the parser then reports. */
function nestsDeeper(body: Buffer, limit: number): boolean {
  let depth = 0;
  for (let at = 0; at < body.length; at += 1) {
    const byte = body[at];
    if (byte === quote) {
      at = endOfString(body, at);
      if (at === -1) return false;
    } else if (byte === 0x7b || byte === 0x5b) {
      depth += 1;
      if (depth > limit) return true;
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1;
  }
  return false;
}

/** Where the string that opens at `start` closes: documents come as strings of megabytes, which are skipped, not walked. */
function endOfString(body: Buffer, start: number): number {
  let close = body.indexOf(quote, start + 1);
  while (close !== -1) {
    let escapes = 0;
    while (body[close - 1 - escapes] === backslash) escapes += 1;
    if (escapes % 2 === 0) return close;
    close = body.indexOf(quote, close + 1);
  }
  return -1;
}
