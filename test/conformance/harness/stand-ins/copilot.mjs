/** What Copilot 1.0.102 reports of a turn: hooks of the plugin that it was started with, and its transcript. Its screen is recorded in `test/data/tui/copilot`. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { append, createWork } from './agent.mjs';
import { callHook } from './hooks.mjs';

const given = (name) => process.argv.find((word) => word.startsWith(`${name}=`))?.slice(name.length + 1);
const session = given('--session-id') ?? given('--resume');
const plugin = given('--plugin-dir');
const { hooks } = JSON.parse(readFileSync(join(plugin, 'hooks.json'), 'utf8'));
const known = new Set(Object.keys(hooks));
const transcript = join(
  process.env.COPILOT_HOME ?? join(homedir(), '.copilot'),
  'session-state',
  session,
  'events.jsonl',
);
const write = (type, data) => append(transcript, { type, data, id: randomUUID(), timestamp: new Date().toISOString() });
const hook = (event, payload = {}) =>
  callHook(known, event, { session_id: session, hook_event_name: event, ...payload });

export const work = createWork({
  session,
  async begins(prompt) {
    await hook('UserPromptSubmit', { prompt });
    write('user.message', { content: prompt });
  },
  // The question is in its transcript, and its dialog is where it is answered.
  async asks(turn) {
    const requestId = randomUUID();
    const permissionRequest = { kind: 'shell', fullCommandText: 'touch made && ls' };
    write('permission.requested', { requestId, permissionRequest });
    await hook('Notification', { notification_type: 'permission_prompt', message: 'Run command: touch made && ls' });
    const allowed = await turn.ask();
    write('permission.completed', { requestId, result: { kind: allowed ? 'approved' : 'cancelled' } });
    return allowed;
  },
  async ends() {
    write('session.usage_record', { usage: { model: 'fake-1', inputTokens: 12, outputTokens: 3 } });
    await hook('Stop');
  },
});
