/**
 * Claude Code's exec mode: one text in, one JSON result out. Exit code 0 does not mean that the work was done: a refused tool
 * ends with 0, so refusals are counted from the result.
 */
import { done, execOf, failed, lastLine } from '../exec-run.ts';
import type { ExecResult } from '../harness.ts';
import { text } from '../values.ts';
import { execCommand } from './launch.ts';

export const execClaude = execOf(execCommand, (ran) => readResult(ran.stdout, ran.code, ran.stderr));

/** The result object is the last thing on stdout; errors of the provider are on stdout too, as text or inside it. */
export function readResult(stdout: string, code: number | null, stderr: string): ExecResult {
  const result = parseResult(stdout);
  if (!result) {
    const nothing = { text: '', sessionId: null, refused: 0, usage: null };
    return failed(nothing, `exit code ${code}: ${lastLine(stdout) || lastLine(stderr)}`);
  }
  const said = {
    text: text(result.result),
    sessionId: typeof result.session_id === 'string' ? result.session_id : null,
    refused: Array.isArray(result.permission_denials) ? result.permission_denials.length : 0,
    usage: usageOf(result),
  };
  return result.is_error === true || code !== 0 ? failed(said, said.text || `exit code ${code}`) : done(said);
}

/** `usage` and `total_cost_usd` of its result, where they are numbers. */
function usageOf({ usage, total_cost_usd: usd }: Record<string, unknown>): Record<string, number> | null {
  const counted = (usage ?? {}) as Record<string, unknown>;
  const number = (value: unknown) => (typeof value === 'number' && Number.isFinite(value) ? value : 0);
  const input = ['input_tokens', 'cache_creation_input_tokens', 'cache_read_input_tokens'];
  const found = {
    ...(counted.input_tokens !== undefined && {
      inputTokens: input.reduce((sum, name) => sum + number(counted[name]), 0),
      outputTokens: number(counted.output_tokens),
    }),
    ...(typeof usd === 'number' && Number.isFinite(usd) && { cents: usd * 100 }),
  };
  return Object.keys(found).length === 0 ? null : found;
}

function parseResult(stdout: string): Record<string, unknown> | null {
  for (const line of stdout.trim().split('\n').reverse()) {
    try {
      const value: unknown = JSON.parse(line);
      const list = Array.isArray(value) ? value : [value];
      const result = list.findLast((entry) => entry?.type === 'result');
      if (result) return result as Record<string, unknown>;
    } catch {
      // Not JSON: a warning or an error as text.
    }
  }
  return null;
}
