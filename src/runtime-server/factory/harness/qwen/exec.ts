/**
 * Qwen Code's exec mode (tui.md 6): one text in, a list of events out, the last of them the result. It retries a refusing provider for
 * minutes and outlives a signal to itself: the deadline is ours, and ends its whole group. A tool that its mode does not offer is
 * simply not there.
 */
import { readResult } from '../claude/exec.ts';
import { execOf } from '../exec-run.ts';
import { execCommand } from './launch.ts';

// Its result has the shape of Claude Code's.
export const execQwen = execOf(execCommand, (ran) => readResult(ran.stdout, ran.code, ran.stderr));
