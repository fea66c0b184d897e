/**
 * A tool server of somebody else for the page to attach: `node tracker.ts <file>`. While the file is there it does not start. By the
 * official server SDK.
 */
import { existsSync, writeSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/server';
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';

const [closed] = process.argv.slice(2);
if (closed !== undefined && existsSync(closed)) {
  writeSync(2, 'The license of this tracker has ended.\n');
  process.exit(3);
}

/** 48 × 32 pixels, from blue to grey. */
const picture =
  'iVBORw0KGgoAAAANSUhEUgAAADAAAAAgCAIAAADbtmxLAAAAmUlEQVR42u3OEYJCAQBF0b+cIAiCIAiCYCAIgiAIgiAILgRBEARBEARBEAQDwUAQBBeCYCAIghbSLqJ3VnCKEpaxglWsYR0b2MQW/mAbO9jFHvZxgEMc4RgnCE5xhnNc4BJXuMYNbnGHezzgEX/xhH94xgteUbzhHf/xgU984RuLhBJKKKGEEkoooYQSSiihhBJKKKGEvhn6AG+kpJftsqngAAAAAElFTkSuQmCC';

const server = new McpServer({ name: 'tracker', version: '1.0.0' });
server.registerTool(
  'create_issue',
  {
    title: 'Create an issue',
    description: 'Opens an issue in a repository and says where it is.',
    annotations: { idempotentHint: true, openWorldHint: true },
    inputSchema: z.object({
      repo: z.object({ owner: z.string(), name: z.string() }).describe('Where it belongs.'),
      title: z.string(),
      body: z.string().optional().describe('Markdown.'),
      labels: z.array(z.string()).optional(),
      priority: z.enum(['low', 'high']).optional(),
      assign: z.union([z.string(), z.object({ team: z.string() })]).optional(),
    }),
  },
  async (issue) => ({
    content: [
      {
        type: 'text',
        text: `# ${issue.title}\n\n| field | value |\n| --- | --- |\n| repository | ${issue.repo.name} |\n`,
      },
      { type: 'text', text: JSON.stringify(issue) },
    ],
    structuredContent: { number: 42, ...issue },
  }),
);
server.registerTool(
  'burndown',
  { description: 'Draws what is left to do.', annotations: { readOnlyHint: true }, inputSchema: z.object({}) },
  async () => ({ content: [{ type: 'image', data: picture, mimeType: 'image/png' }] }),
);
server.registerTool(
  'close_issue',
  {
    description: 'Closes an issue.',
    annotations: { destructiveHint: true },
    inputSchema: z.object({ id: z.number() }),
  },
  async ({ id }) => ({ content: [{ type: 'text', text: `There is no issue ${id}.` }], isError: true }),
);
server.registerTool(
  'watch',
  { description: 'Waits for the next change, for ever.', inputSchema: z.object({}) },
  () => new Promise(() => {}),
);
server.registerTool('old tool', { description: 'Its name has a blank.', inputSchema: z.object({}) }, async () => ({
  content: [],
}));
await server.connect(new StdioServerTransport());
