/**
 * Gemini CLI's exec mode: one text in, events as JSON lines out. A tool that its mode does not allow is not even offered, and its
 * exit code says little: 0 after a refusal, the provider's status cut to a byte after an error. So the events decide. When a
 * provider refuses, it retries for minutes, whatever signal it gets.
 */
import type { Ran } from '../adapter.ts';
import { done, execOf, failed } from '../exec-run.ts';
import type { ExecResult } from '../harness.ts';
import { count, objectOf, parseObject } from '../values.ts';
import { execCommand } from './launch.ts';

const refusals = /not_registered|denied|policy|permission|cancel/u;

export const execGemini = execOf(execCommand, readEvents);

export function readEvents({ stdout, stderr, code }: Ran, resume: string | null = null): ExecResult {
  let sessionId = resume;
  let text = '';
  let refused = 0;
  let result: Readonly<Record<string, unknown>> | null = null;
  for (const line of stdout.split('\n')) {
    const event = parseObject(line);
    if (event === null) continue;
    if (event.type === 'init' && typeof event.session_id === 'string') sessionId = event.session_id;
    else if (event.type === 'message' && event.role === 'assistant') text += String(event.content ?? '');
    // Text before a tool is not the final answer.
    else if (event.type === 'tool_use') text = '';
    else if (event.type === 'tool_result' && isRefusal(objectOf(event.error))) refused += 1;
    else if (event.type === 'result') result = event;
  }
  const said = { text, sessionId, refused, usage: usageOf(objectOf(result?.stats)) };
  if (result?.status === 'success') return done(said);
  return failed(said, String(objectOf(result?.error)?.message ?? complaint(stderr) ?? `exit code ${code}`));
}

/** In plan mode a file counts as an invalid parameter; only the message says why. */
function isRefusal(error: Readonly<Record<string, unknown>> | null): boolean {
  return refusals.test(String(error?.type ?? '')) || String(error?.message ?? '').startsWith('Access denied');
}

/** The first line that is more than a complaint about the terminal. */
function complaint(stderr: string): string | undefined {
  const lines = stderr.replace(/\x1b\[[\d;]*m/gu, '').split('\n');
  return lines.find((line) => line.trim() !== '' && !/^(Warning:|Ripgrep is not|Approval mode)/u.test(line));
}

function usageOf(stats: Readonly<Record<string, unknown>> | null): Record<string, number> | null {
  if (stats === null) return null;
  return { inputTokens: count(stats.input_tokens), outputTokens: count(stats.output_tokens) };
}
