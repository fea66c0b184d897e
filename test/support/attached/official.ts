/**
 * Tool servers as the official SDKs make them: `official.ts <v1|v2> <stdio|http>`; over HTTP it says where it listens. Their list grows with
 * the tool `grow`, and they say so.
 */
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { McpServer as ServerV1 } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpHandler, McpServer as ServerV2 } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [version, way] = process.argv.slice(2);
const info = { name: `official-${version}`, version: '1.0.0' };
const add = {
  title: 'Add',
  description: 'Adds.',
  inputSchema: { a: z.number(), b: z.number() },
  outputSchema: { sum: z.number() },
};
const sum = ({ a, b }: { a: number; b: number }) => ({
  content: [{ type: 'text' as const, text: String(a + b) }],
  structuredContent: { sum: a + b },
});
const done = { content: [{ type: 'text' as const, text: 'done' }] };

function makeV1(): ServerV1 {
  const server = new ServerV1(info);
  server.registerTool('add', add, sum);
  server.registerTool('grow', {}, () => {
    server.registerTool('grown', {}, () => done);
    return done;
  });
  return server;
}

function makeV2(): ServerV2 {
  const server = new ServerV2(info);
  server.registerTool(
    'add',
    { ...add, inputSchema: z.object(add.inputSchema), outputSchema: z.object(add.outputSchema) },
    sum,
  );
  server.registerTool('grow', {}, () => {
    server.registerTool('grown', {}, () => done);
    return done;
  });
  return server;
}

if (way === 'stdio') {
  if (version === 'v1') await makeV1().connect(new StdioServerTransport());
  else serveStdio(makeV2);
} else {
  const handle = version === 'v1' ? sessionsOfV1() : toNodeHandler(createMcpHandler(makeV2));
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp\n`);
  });
}

/** A session for each client, answers as streams: what most servers on the web are. */
function sessionsOfV1() {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return async (request: IncomingMessage, response: ServerResponse) => {
    const known = sessions.get(String(request.headers['mcp-session-id']));
    if (known !== undefined) return known.handleRequest(request, response);
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
    });
    await makeV1().connect(transport as Parameters<ServerV1['connect']>[0]);
    return transport.handleRequest(request, response);
  };
}
