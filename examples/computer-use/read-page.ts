/** Reads a page in a browser that Gantry drives, and prints what happens: `node examples/computer-use/read-page.ts <address>` with Node 24. */
import { readFileSync } from 'node:fs';
import { ComputerUseClient } from '../../src/client/computer-use.ts';

const { GANTRY_URL = 'http://127.0.0.1:3010', GANTRY_KEY_FILE = 'computer-use.key' } = process.env;
const [url = 'https://example.com'] = process.argv.slice(2);
const client = new ComputerUseClient({ baseUrl: GANTRY_URL, token: readFileSync(GANTRY_KEY_FILE, 'utf8').trim() });

const run = await client.executeDirect(
  [
    { toolset: 'browser', member: 'navigate', input: { url } },
    { toolset: 'browser', member: 'get_page_text', input: {} },
  ],
  { target_scope: 'browser', metadata: { name: 'Read a page' } },
);
client.subscribeToRun(run.run_id, ({ index, event_type, message }) => console.log(index, event_type, message));
const ended = await client.waitForRun(run.run_id);
console.log(ended.status, ended.error?.message ?? '');
console.log(ended.result?.text ?? '');
process.exitCode = ended.status === 'completed' ? 0 : 1;
