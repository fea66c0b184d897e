/** `gantry hook <Event>`: a harness's own process reports to Gantry. Starts fast: no parser, no client. */
import { runHook } from '../runtime-server/harness/hook-client.ts';

/** Exit code 0 whatever happens, so that a hook never stands in the way of a bot. */
export function main(argv: readonly string[]): Promise<number> {
  return runHook(argv[0] ?? '', { env: process.env, stdin: process.stdin, stdout: process.stdout, now: Date.now });
}
