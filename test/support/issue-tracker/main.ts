/**
 * `node test/support/issue-tracker/main.ts [--port N] [--anonymous NAME] [--api-key KEY=NAME]`: the tracker as a program. Its
 * first line says where it is; POST /control turns its knobs.
 */
import { parseArgs } from 'node:util';
import { startIssueTracker } from './tracker.ts';

const { values } = parseArgs({
  options: { port: { type: 'string' }, anonymous: { type: 'string' }, 'api-key': { type: 'string', multiple: true } },
});
const tracker = await startIssueTracker({
  ...(values.port === undefined ? {} : { port: Number(values.port) }),
  ...(values.anonymous === undefined ? {} : { anonymous: values.anonymous }),
  apiKeys: Object.fromEntries((values['api-key'] ?? []).map((pair) => pair.split('=', 2) as [string, string])),
});
process.stdout.write(`${tracker.url}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => void tracker.close());
