/** What Codex 0.169.0 reports of a turn: hooks of its command line, and its rollout file. Its screen is recorded in `test/data/tui/codex`. */
import { randomUUID } from 'node:crypto';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { append, createWork, option } from './agent.mjs';
import { callHook, decided, shellCall } from './hooks.mjs';

const session = option('resume') ?? randomUUID();
const known = new Set(process.argv.flatMap((word) => /^hooks\.([A-Z]\w+)=/.exec(word)?.[1] ?? []));
const transcript = join(
  process.env.CODEX_HOME ?? join(homedir(), '.codex'),
  'sessions',
  '2026',
  `rollout-${session}.jsonl`,
);
const write = (type, payload) => append(transcript, { timestamp: new Date().toISOString(), type, payload });
const hook = (event, payload = {}) =>
  callHook(known, event, { session_id: session, transcript_path: transcript, hook_event_name: event, ...payload });

export const work = createWork({
  session,
  async begins(prompt) {
    await hook('UserPromptSubmit', { prompt });
    write('turn_context', { model: 'fake-1' });
    write('response_item', { type: 'message', role: 'user', content: [{ type: 'input_text', text: prompt }] });
  },
  // It shows its own dialog only once the hook has answered nothing.
  async asks(turn) {
    const answer = await hook('PermissionRequest', { ...shellCall, turn_id: randomUUID() });
    return answer.hookSpecificOutput === undefined ? turn.ask() : decided(answer);
  },
  async ends() {
    const usage = { input_tokens: 12, output_tokens: 3, cached_input_tokens: 0, cache_write_input_tokens: 0 };
    write('token_usage_record', { thread_id: session, response_id: randomUUID(), usage });
    await hook('Stop');
  },
});
