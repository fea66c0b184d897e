/**
 * What a turn of the stand-in with an account does: it reports as the real program's hooks do, and with `limit.txt` in its folder it ends at the usage
 * limit that the file tells of.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const { config, id, transcript, settings } = globalThis.standIn;
const { hooks } = JSON.parse(readFileSync(settings, 'utf8'));

function hook(event, payload) {
  const command = hooks[event][0].hooks[0].command;
  const input = JSON.stringify({ session_id: id, transcript_path: transcript, hook_event_name: event, ...payload });
  spawnSync('sh', ['-c', command], { input });
}

export async function work(text) {
  hook('UserPromptSubmit', { prompt: text });
  const limit = join(config, 'limit.txt');
  const usage = { input_tokens: 100, output_tokens: 10, cache_read_input_tokens: 0, cache_creation_input_tokens: 0 };
  const message = {
    id: `msg_${process.pid}_${Date.now()}`,
    model: 'claude-sonnet-4-5',
    usage,
    stop_reason: 'end_turn',
  };
  const line = { type: 'assistant', timestamp: new Date().toISOString(), message };
  appendFileSync(transcript, `${JSON.stringify(line)}\n`);
  if (existsSync(limit)) {
    hook('StopFailure', { error: 'rate_limit', last_assistant_message: readFileSync(limit, 'utf8').trim() });
  } else hook('Stop', {});
}
