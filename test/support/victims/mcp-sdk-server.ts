/**
 * `mcp-sdk-server.ts`: the official SDK's server, version 2, as its documentation mounts it, with twenty tools of which `time.now` answers
 * what Gantry's does. Says `{"port","pid"}`.
 */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { z } from 'zod';

const tools = 20;
const inputSchema = z.strictObject({ timezone: z.string().optional() });
const outputSchema = z.strictObject({
  utc: z.string(),
  unixMs: z.number(),
  timezone: z.string(),
  local: z.string(),
  weekday: z.string(),
});

/** Of the zone that the bench asks for. */
const format = new Intl.DateTimeFormat('en-US', {
  timeZone: 'UTC',
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
  weekday: 'long',
});

function create(): McpServer {
  const server = new McpServer({ name: 'sdk', version: '1.0.0' });
  for (let count = 0; count < tools; count += 1) {
    const name = count === 0 ? 'time.now' : `tool.${count}`;
    server.registerTool(name, { description: 'Tells the time.', inputSchema, outputSchema }, ({ timezone = 'UTC' }) => {
      const now = Date.now();
      const utc = new Date(now).toISOString();
      const found = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
      const local = `${found.year}-${found.month}-${found.day}T${found.hour}:${found.minute}${utc.slice(16, 23)}Z`;
      const structuredContent = { utc, unixMs: now, timezone, local, weekday: found.weekday ?? '' };
      return { content: [{ type: 'text', text: JSON.stringify(structuredContent) }], structuredContent };
    });
  }
  return server;
}

const handle = toNodeHandler(createMcpHandler(create, { responseMode: 'json' }));
const server = createServer((request, response) => void handle(request, response));
server.listen(0, '127.0.0.1', () => {
  const { port } = server.address() as AddressInfo;
  process.stdout.write(`${JSON.stringify({ port, pid: process.pid })}\n`);
});
