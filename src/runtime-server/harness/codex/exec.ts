/**
 * Codex's exec mode: one text in, events as JSON lines out. Nobody can answer questions, so Codex refuses what would need one and still exits with
 * 0: the events say what happened, and its log the refusals.
 */
import type { Ran } from '../adapter.ts';
import { done, execOf, failed, lastLine } from '../exec-run.ts';
import type { ExecResult } from '../harness.ts';
import { count, objectOf, parseObject } from '../values.ts';
import { execCommand } from './launch.ts';

/** One line of its log for each tool call that was turned down. */
const refusal = /codex_core::tools::router: error=.*\b(reject|denied|not allowed)/u;

export const execCodex = execOf(execCommand, readEvents);

export function readEvents({ stdout, stderr, code }: Ran, resume: string | null = null): ExecResult {
  let sessionId = resume;
  let text = '';
  let usage: Record<string, number> | null = null;
  let completed = false;
  let failure: string | null = null;
  for (const line of stdout.split('\n')) {
    const event = parseObject(line);
    if (event === null) continue;
    const item = objectOf(event.item);
    if (event.type === 'thread.started' && typeof event.thread_id === 'string') sessionId = event.thread_id;
    else if (event.type === 'item.completed' && item?.type === 'agent_message') text = String(item.text ?? '');
    else if (event.type === 'turn.completed') {
      completed = true;
      usage = usageOf(objectOf(event.usage));
    } else if (event.type === 'turn.failed' || event.type === 'error') {
      failure = String(objectOf(event.error)?.message ?? event.message ?? 'the turn failed');
    }
  }
  const refused = stderr.split('\n').filter((line) => refusal.test(line)).length;
  const said = { text, sessionId, refused, usage };
  if (completed && code === 0) return done(said);
  return failed(said, failure ?? (lastLine(stderr) || `exit code ${code}`));
}

function usageOf(usage: Readonly<Record<string, unknown>> | null): Record<string, number> | null {
  if (usage === null) return null;
  return { inputTokens: count(usage.input_tokens), outputTokens: count(usage.output_tokens) };
}
