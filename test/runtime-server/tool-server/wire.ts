/** The doors of an engine's tool server as clients see them: MCP of the stateless era, and REST. */
import type { ToolInfo, ToolResult } from '../../../src/contracts/tool-server/tools.ts';
import { type Engine, ownerToken } from '../engine.ts';

export interface RpcReply {
  readonly status: number;
  readonly result?: Record<string, unknown> & { readonly tools?: ToolInfo[] } & Partial<ToolResult>;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown };
}

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};

export async function rpc(
  engine: Engine,
  method: string,
  params: object = {},
  { token = ownerToken, query = '', signal }: { token?: string; query?: string; signal?: AbortSignal } = {},
): Promise<RpcReply> {
  const response = await fetch(`${engine.url}/mcp/server${query}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: response.status, ...((await response.json()) as object) };
}

export async function callOver(
  engine: Engine,
  name: string,
  args: object = {},
  options: { token?: string; signal?: AbortSignal } = {},
): Promise<ToolResult> {
  const { result, error } = await rpc(engine, 'tools/call', { name, arguments: args }, options);
  if (result === undefined) throw new Error(JSON.stringify(error));
  return result as unknown as ToolResult;
}

export async function rest<T = ToolResult>(
  engine: Engine,
  method: string,
  path: string,
  { body, token = ownerToken, headers = {} }: { body?: object; token?: string; headers?: Record<string, string> } = {},
): Promise<{ status: number; body: T }> {
  const response = await fetch(`${engine.url}/api/v1/tools${path}`, {
    method,
    headers: {
      ...headers,
      authorization: `Bearer ${token}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: (await response.json()) as T };
}

export const textOf = ({ content }: ToolResult): string => content.map((block) => String(block.text ?? '')).join('\n');
