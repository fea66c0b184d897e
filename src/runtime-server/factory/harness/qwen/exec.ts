/**
 * Qwen Code's exec mode (tui.md 6): one text in, a list of events out, the last of them the result. It retries a refusing provider for
 * minutes and outlives a signal to itself: the deadline is ours, and ends its whole group. A tool that its mode does not offer is
 * simply not there.
 */
import type { Surroundings } from '../adapter.ts';
import { readResult } from '../claude/exec.ts';
import { runExec } from '../exec-run.ts';
import type { BotDoors, BotSpec, ExecOptions, ExecResult } from '../harness.ts';
import { execQwenCommand } from './launch.ts';

export async function execQwen(
  around: Surroundings,
  bot: BotSpec,
  doors: BotDoors,
  text: string,
  options: ExecOptions,
): Promise<ExecResult> {
  const start = await execQwenCommand(around, bot, doors, options.mode, options.resume ?? null);
  // Its result has the shape of Claude Code's.
  return runExec(around, bot, start, text, options, (ran) => readResult(ran.stdout, ran.code, ran.stderr));
}
