/**
 * What Qwen Code 0.24.4 writes of a turn: its transcript, and questions in its file of events. That it took a prompt is written by the stand-in. Its
 * screen is recorded in `test/data/tui/qwen`.
 */
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { append, createWork, option, slug } from './agent.mjs';

const session = option('--session-id', '--resume');
const home = process.env.QWEN_HOME ?? join(homedir(), '.qwen');
const transcript = join(home, 'projects', slug(), 'chats', `${session}.jsonl`);

export const work = createWork({
  session,
  begins(prompt) {
    append(transcript, { uuid: randomUUID(), type: 'user', message: { role: 'user', parts: [{ text: prompt }] } });
  },
  asks(turn) {
    const answered = turn.ask();
    append(option('--json-file'), {
      type: 'control_request',
      request_id: randomUUID(),
      request: {
        subtype: 'can_use_tool',
        tool_name: 'run_shell_command',
        tool_use_id: randomUUID(),
        input: { command: 'touch made && ls' },
      },
    });
    return answered;
  },
  ends() {
    append(transcript, {
      uuid: randomUUID(),
      timestamp: new Date().toISOString(),
      type: 'assistant',
      model: 'fake-1',
      usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3, cachedContentTokenCount: 0 },
    });
  },
});
