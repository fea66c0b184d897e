/**
 * Qwen Code's exec mode (tui.md 6): one text in, a list of events out, the last of them the result. It retries a refusing provider for
 * minutes and outlives a signal to itself: the deadline is ours, and ends its whole group. A tool that its mode does not offer is
 * simply not there.
 */
import type { Surroundings } from '../adapter.ts';
import { readResult } from '../claude/exec.ts';
import type { BotDoors, BotSpec, ExecOptions, ExecResult } from '../harness.ts';
import { execQwenCommand } from './launch.ts';

const defaultTimeoutMs = 10 * 60_000;

export async function execQwen(
  around: Surroundings,
  bot: BotSpec,
  doors: BotDoors,
  text: string,
  { mode, resume = null, timeoutMs = defaultTimeoutMs, signal }: ExecOptions,
): Promise<ExecResult> {
  const { command, env } = await execQwenCommand(around, bot, doors, mode, resume);
  const ran = await around.processes.run(command, { cwd: bot.cwd, env, input: text, timeoutMs, signal });
  const ended = { text: '', sessionId: resume, refused: 0, usage: null };
  if (ran.stopped === true) return { ...ended, state: 'stopped', detail: 'it was stopped' };
  if (ran.timedOut) return { ...ended, state: 'timeout', detail: `no answer within ${timeoutMs} ms; it was ended` };
  // Its result has the shape of Claude Code's.
  return readResult(ran.stdout, ran.code, ran.stderr);
}
