/** What Claude Code 2.1.329 reports of a turn: hooks of its settings file, and its transcript. Its screen is recorded in `test/data/tui/claude`. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { append, createWork, option, slug } from './agent.mjs';
import { callHook, decided, shellCall } from './hooks.mjs';

const session = option('--session-id', '--resume');
const known = new Set(Object.keys(JSON.parse(readFileSync(option('--settings'), 'utf8')).hooks));
const transcript = join(
  process.env.CLAUDE_CONFIG_DIR ?? join(homedir(), '.claude'),
  'projects',
  slug(),
  `${session}.jsonl`,
);
const hook = (event, payload = {}) =>
  callHook(known, event, { session_id: session, transcript_path: transcript, hook_event_name: event, ...payload });

export const work = createWork({
  session,
  async begins(prompt) {
    await hook('UserPromptSubmit', { prompt });
    append(transcript, { type: 'user', message: { role: 'user', content: prompt } });
  },
  // Its dialog stands while the hook waits, and the first answer counts.
  asks: (turn) => turn.ask(decided(hook('PermissionRequest', { ...shellCall, prompt_id: randomUUID() }))),
  async ends() {
    const usage = { input_tokens: 12, output_tokens: 3, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
    const message = { id: `msg_${randomUUID()}`, model: 'fake-1', stop_reason: 'end_turn', usage };
    append(transcript, { type: 'assistant', timestamp: new Date().toISOString(), message });
    await hook('Stop');
  },
});
