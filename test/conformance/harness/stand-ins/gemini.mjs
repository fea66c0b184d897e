/** What Gemini CLI 0.61.0 writes of a turn: its transcript below the name of the project; it has no hooks. Its screen is recorded in `test/data/tui/gemini`. */
import { randomUUID } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { append, createWork, option } from './agent.mjs';

const session = option('--session-id', '--resume');
const folder = join(process.env.GEMINI_CLI_HOME ?? homedir(), '.gemini');
mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, 'projects.json'), JSON.stringify({ projects: { [process.cwd()]: 'project' } }));
const began = new Date().toISOString().slice(0, 16).replace(':', '-');
const transcript = join(folder, 'tmp', 'project', 'chats', `session-${began}-${session.slice(0, 8)}.jsonl`);

export const work = createWork({
  session,
  begins(prompt) {
    append(transcript, { id: randomUUID(), type: 'user', content: [{ text: prompt }] });
  },
  ends() {
    const tokens = { input: 12, output: 3, cached: 0, thoughts: 0, tool: 0 };
    append(transcript, {
      id: randomUUID(),
      timestamp: new Date().toISOString(),
      type: 'gemini',
      model: 'fake-1',
      tokens,
    });
  },
});
