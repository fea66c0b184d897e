/** One tool call on the wire, for benches that send it over kept connections. */
import { mcpMeta, mcpServer, modernVersion } from '../../../src/contracts/tool-server/mcp.ts';

/** The bytes of one call of `time.now` without a time zone, as most callers make it. */
export const callOfTime = (port: number, token?: string): string => callOfTool(port, 'time.now', {}, token);

/** The bytes of one call, as a client of today's protocol sends them; without `token` no credential. */
export function callOfTool(port: number, name: string, args: object, token?: string): string {
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: {
      name,
      arguments: args,
      _meta: { [mcpMeta.version]: modernVersion, [mcpMeta.clientCapabilities]: {} },
    },
  });
  const lines = [
    `POST ${mcpServer.path} HTTP/1.1`,
    `Host: 127.0.0.1:${port}`,
    ...(token === undefined ? [] : [`Authorization: Bearer ${token}`]),
    'Content-Type: application/json',
    'Accept: application/json, text/event-stream',
    `MCP-Protocol-Version: ${modernVersion}`,
    'Mcp-Method: tools/call',
    `Mcp-Name: ${name}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ];
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}
