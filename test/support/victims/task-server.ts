/**
 * A tool server with tasks until it is killed: `node task-server.ts <folder> [address of a server to attach as web]`. Its tool `write.line` asks a person and then adds its line to
 * `lines.txt`. Prints `ready <url>`; reads `live`, printed as `live <JSON of the questions>`, and `answer <JSON>` as the cloud's lane would bring it,
 * printed as `said <id> <surface> <applied|gone>`.
 */
import { appendFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { systemClock } from '../../../src/kit/clock/clock.ts';
import { systemTimers } from '../../../src/kit/clock/timers.ts';
import { defineTool } from '../../../src/runtime-server/tool-server/index.ts';
import { openTaskServer } from '../mcp/task-server.ts';

const [root = '.', url] = process.argv.slice(2);
const writeLine = defineTool({
  name: 'write.line',
  title: 'Write a line',
  description: 'Adds a line to a file.',
  input: z.strictObject({ line: z.string() }),
  output: z.strictObject({ line: z.string() }),
  readOnly: false,
  plan: ({ line }) => ({
    risk: 'high',
    title: 'Write a line',
    summary: line,
    command: `write ${line}`,
    async run() {
      appendFileSync(join(root, 'lines.txt'), `${line}\n`);
      return { line };
    },
  }),
});
const server = await openTaskServer({
  root,
  clock: systemClock,
  timers: systemTimers,
  tools: [writeLine],
  asksAll: true,
});
await server.start();
if (url !== undefined && server.attached.all().length === 0) {
  await server.attached.attach({ name: 'web', transport: { type: 'http', url } });
}
const say = (line: string) => process.stdout.write(`${line}\n`);
say(`ready ${server.url}`);

createInterface({ input: process.stdin }).on('line', (line) => {
  const fault = (error: unknown) => process.stderr.write(`${String(error)}\n`);
  if (line === 'live') {
    const list = async () => (await server.approvals.live()).map(({ id, summary }) => ({ id, summary }));
    list().then((live) => say(`live ${JSON.stringify(live)}`), fault);
    return;
  }
  const body = JSON.parse(line.slice('answer '.length));
  server.approvals.answer(body).then((said) => say(`said ${body.id} ${body.resolvedBy.surface} ${said}`), fault);
});
