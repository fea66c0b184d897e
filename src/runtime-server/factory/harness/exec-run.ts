/**
 * One answer of a harness without a pane: its program is run to its end with the text on stdin, so that no text can be an option.
 * What its output means is given by the adapter. Must not know a harness.
 */
import type { Ran, Surroundings } from './adapter.ts';
import type { BotSpec, ExecOptions, ExecResult } from './harness.ts';

/** A program that retries a refusing provider for ever ends here, with its whole group. */
const defaultTimeoutMs = 10 * 60_000;
const detailChars = 500;

export interface ExecStart {
  readonly command: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
}

export async function runExec(
  { processes }: Surroundings,
  bot: BotSpec,
  { command, env }: ExecStart,
  text: string,
  { resume = null, timeoutMs = defaultTimeoutMs, signal }: ExecOptions,
  read: (ran: Ran) => ExecResult,
): Promise<ExecResult> {
  const ran = await processes.run(command, { cwd: bot.cwd, env, input: text, timeoutMs, signal });
  const ended = { text: '', sessionId: resume, refused: 0, usage: null };
  if (ran.stopped === true) return { ...ended, state: 'stopped', detail: 'it was stopped' };
  if (ran.timedOut) return { ...ended, state: 'timeout', detail: `no answer within ${timeoutMs} ms; it was ended` };
  return read(ran);
}

type Said = Pick<ExecResult, 'text' | 'sessionId' | 'refused' | 'usage'>;

export function done(said: Said): ExecResult {
  const { refused } = said;
  const detail = refused > 0 ? `${refused} tool ${refused === 1 ? 'call was' : 'calls were'} refused` : '';
  return { ...said, state: 'done', detail };
}

export function failed(said: Said, why: string): ExecResult {
  return { ...said, state: 'failed', detail: why.slice(0, detailChars) };
}

export function lastLine(output: string): string {
  return output.trim().split('\n').at(-1) ?? '';
}
