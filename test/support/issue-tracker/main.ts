/**
 * The tracker as a program; `--help` says how. Its first line says where it is.
 */
import { parseArgs } from 'node:util';
import { startIssueTracker } from './tracker.ts';

const help = `node test/support/issue-tracker/main.ts [--port N] [--anonymous NAME] [--api-key KEY=NAME]…

An issue tracker on 127.0.0.1 that speaks MCP and tells of its issues. The line it prints is the address to connect to; the page
to open issues on is the same without /mcp. Everybody signs in there with OAuth under any name.

  --port N            where it listens (default: any free port)
  --anonymous NAME    whoever comes without a sign-in is NAME
  --api-key KEY=NAME  whoever sends KEY as a bearer token is NAME; as often as you like
  POST /control       makes it behave badly
`;

const { values } = parseArgs({
  options: {
    help: { type: 'boolean', short: 'h' },
    port: { type: 'string' },
    anonymous: { type: 'string' },
    'api-key': { type: 'string', multiple: true },
  },
});
if (values.help) {
  process.stdout.write(help);
  process.exit(0);
}
const tracker = await startIssueTracker({
  ...(values.port === undefined ? {} : { port: Number(values.port) }),
  ...(values.anonymous === undefined ? {} : { anonymous: values.anonymous }),
  apiKeys: Object.fromEntries((values['api-key'] ?? []).map((pair) => pair.split('=', 2) as [string, string])),
});
process.stdout.write(`${tracker.url}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void tracker.close());
