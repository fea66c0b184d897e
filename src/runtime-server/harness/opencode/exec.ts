/**
 * opencode's exec mode: one text in, events out, one a line. A tool that would need a question is refused, the program stops and
 * ends with 0: refusals are counted from the events. After a provider refused, it ends with 1 only after its own retries.
 */
import { done, execOf, failed, lastLine } from '../exec-run.ts';
import type { ExecResult } from '../harness.ts';
import { count, parseObject, record } from '../values.ts';
import { execCommand } from './launch.ts';

export const execOpencode = execOf(execCommand, (ran) => readEvents(ran.stdout, ran.code, ran.stderr));

/** The error of a refused tool. */
const refusal =
  /rejected permission|permission (was )?(rejected|denied)|prevents you from using|user rejected|unavailable tool/i;

export function readEvents(stdout: string, code: number | null, stderr: string): ExecResult {
  let text = '';
  let sessionId: string | null = null;
  let refused = 0;
  let fault: string | null = null;
  const usage = { inputTokens: 0, outputTokens: 0, cents: 0 };
  let counted = false;
  for (const line of stdout.split('\n')) {
    const event = parseObject(line);
    if (event === null) continue;
    if (typeof event.sessionID === 'string') sessionId = event.sessionID;
    const part = record(event.part);
    if (event.type === 'text' && typeof part.text === 'string') text = part.text;
    else if (event.type === 'tool_use') {
      const state = record(part.state);
      // A tool that a mode does not have comes out as one that could not be called.
      const words = state.status === 'error' ? state.error : part.tool === 'invalid' ? state.output : '';
      if (refusal.test(String(words))) refused += 1;
    } else if (event.type === 'step_finish') {
      const tokens = record(part.tokens);
      const cache = record(tokens.cache);
      usage.inputTokens += count(tokens.input) + count(cache.read) + count(cache.write);
      usage.outputTokens += count(tokens.output) + count(tokens.reasoning);
      usage.cents += amount(part.cost) * 100;
      counted = true;
    } else if (event.type === 'error') fault = faultOf(record(event.error));
  }
  // The event of a refusal that ends its run may be missing; stderr names it.
  if (refused === 0) refused = stderr.match(/auto-rejecting/g)?.length ?? 0;
  const said = { text, sessionId, refused, usage: counted ? usage : null };
  if (fault !== null) return failed(said, fault);
  return code === 0 ? done(said) : failed(said, `exit code ${code}: ${lastLine(stderr)}`);
}

function faultOf(error: Readonly<Record<string, unknown>>): string {
  const data = record(error.data);
  return [data.message, error.message, error.name].find((words) => typeof words === 'string' && words !== '') as string;
}

/** A cost is a part of one. */
function amount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
