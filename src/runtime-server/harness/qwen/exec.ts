/**
 * Qwen Code's exec mode: one text in, a list of events out, the last of them the result. When a provider refuses, it retries for
 * minutes, and it survives a signal to itself: Gantry sets the deadline and ends its whole process group. A tool that its mode
 * does not offer is simply not there.
 */
import { readResult } from '../claude/exec.ts';
import { execOf } from '../exec-run.ts';
import { execCommand } from './launch.ts';

// Its result has the shape of Claude Code's.
export const execQwen = execOf(execCommand, (ran) => readResult(ran.stdout, ran.code, ran.stderr));
