/**
 * Copilot's exec mode: one text in, events as JSON lines out. Nobody can answer a question there: it refuses what would need one and still ends with
 * 0, so the events say what happened.
 */
import type { Ran } from '../adapter.ts';
import { done, execOf, failed, lastLine } from '../exec-run.ts';
import type { ExecResult } from '../harness.ts';
import { parseObject, record, text } from '../values.ts';
import { execCommand } from './launch.ts';

export const execCopilot = execOf(execCommand, readEvents);

export function readEvents({ stdout, stderr, code }: Ran, resume: string | null = null): ExecResult {
  let sessionId = resume;
  let answer = '';
  let refused = 0;
  let failure = '';
  let ended = false;
  for (const line of stdout.split('\n')) {
    const event = parseObject(line);
    if (event === null) continue;
    const data = record(event.data);
    if (event.type === 'assistant.message' && text(data.content) !== '') answer = text(data.content);
    else if (event.type === 'tool.execution_complete' && record(data.error).code === 'denied') refused += 1;
    else if (event.type === 'session.error') failure = text(data.message);
    else if (event.type === 'result') {
      ended = event.exitCode === 0;
      sessionId = text(event.sessionId) || sessionId;
    }
  }
  // It does not say how many tokens it used.
  const said = { text: answer, sessionId, refused, usage: null };
  if (ended && code === 0 && failure === '') return done(said);
  return failed(said, failure || lastLine(stderr) || `exit code ${code}`);
}
