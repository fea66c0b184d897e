/** Another vendor's tool server, on stdin and stdout, by the official server SDK: `node two-tools.ts`. */
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const server = new McpServer({ name: 'two-tools', version: '1.0.0' });
server.registerTool(
  'echo',
  { description: 'Repeats a text.', inputSchema: z.object({ text: z.string() }) },
  async ({ text }) => ({ content: [{ type: 'text', text }] }),
);
server.registerTool('ping', { description: 'Answers.', inputSchema: z.object({}) }, async () => ({
  content: [{ type: 'text', text: 'pong' }],
}));
await server.connect(new StdioServerTransport());
