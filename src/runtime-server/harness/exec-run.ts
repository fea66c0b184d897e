/**
 * One answer of a harness without a pane: runs its program to its end with the text on stdin, so that no text can be an option. The adapter reads
 * the output. Must not know a harness.
 */
import type { Ran, Surroundings } from './adapter.ts';
import { botEnvironment } from './environment.ts';
import type { BotPaths, BotSpec, ExecMode, ExecOptions, ExecResult } from './harness.ts';

/** A program that retries a refusing provider forever ends here, with its whole group. */
const defaultTimeoutMs = 10 * 60_000;
const detailChars = 500;

export interface ExecStart {
  readonly command: readonly [string, ...string[]];
  /** Variables only of this harness. */
  readonly own?: Readonly<Record<string, string>>;
}

type Exec = (
  around: Surroundings,
  bot: BotSpec,
  paths: BotPaths,
  text: string,
  options: ExecOptions,
) => Promise<ExecResult>;

/** `begin`: the command for a mode and the session to continue. `read`: parses its output. */
export const execOf =
  (
    begin: (
      around: Surroundings,
      bot: BotSpec,
      mode: ExecMode,
      resume: string | null,
      paths: BotPaths,
    ) => Promise<ExecStart>,
    read: (ran: Ran, resume: string | null) => ExecResult,
  ): Exec =>
  async (around, bot, paths, text, { mode, resume = null, timeoutMs = defaultTimeoutMs, signal }) => {
    const { command, own } = await begin(around, bot, mode, resume, paths);
    const env = botEnvironment(around.env, bot, paths, own);
    const ran = await around.processes.run(command, { cwd: bot.cwd, env, input: text, timeoutMs, signal });
    const ended = { text: '', sessionId: resume, refused: 0, usage: null };
    if (ran.stopped === true) return { ...ended, state: 'stopped', detail: 'it was stopped' };
    if (ran.timedOut) return { ...ended, state: 'timeout', detail: `no answer within ${timeoutMs} ms; it was ended` };
    return read(ran, resume);
  };

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
