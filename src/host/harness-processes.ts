/** Programs that a harness runs beside its bot, and waits for. */
import { runProcess } from '../kit/process/run-process.ts';
import type { ProcessRunner } from '../runtime-server/harness/adapter.ts';

export const harnessProcesses: ProcessRunner = {
  async run(command, { cwd, env, input, timeoutMs, signal }) {
    const ran = await runProcess({ command, cwd, env, input: input ?? undefined, deadlineMs: timeoutMs, signal });
    const { exitCode: code, stdout, stderr, ended } = ran;
    return { code, stdout, stderr, timedOut: ended === 'deadline', stopped: ended === 'aborted' };
  },
};
