/**
 * Runs a program in a sandbox where only arguments and variables can be given to what is started, such as in a pane: a shell opens the descriptors
 * that bubblewrap reads. Must not know panes.
 */
import { AppError } from '../../contracts/common/errors.ts';
import { runProcess } from '../process/run-process.ts';
import { confine, type Environment, programIn } from './bubblewrap.ts';
import type { Sandbox } from './sandbox.ts';

/** What it takes besides bubblewrap. */
export interface TerminalTools {
  readonly bubblewrap: string;
  readonly base64: string;
  /** Path of `env` from coreutils 8.31 or newer, which restores default signal handling; null if it is missing. */
  readonly env: string | null;
}

/** A variable longer than this does not reach a program. Bytes; Linux allows 128 KiB. */
const maxVariable = 120 * 1024;
const probeMs = 10_000;
const signals = 'HUP,INT,QUIT,TERM';

/**
 * The variables come encoded in a variable of the shell, which is in no list of processes and in no file, and the shell itself runs with no other: it
 * and bwrap obey none of the program's. Ctrl-C reaches everything in the terminal; only the program inside is to answer it, because the sandbox ends
 * with bwrap.
 */
const script = (ignoring: boolean): string =>
  [
    ...(ignoring ? [`trap '' ${signals.replaceAll(',', ' ')}`] : []),
    'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs" || exit 125; shift; done',
    'exec 4<"$2" 5<&0',
    'shift 2',
    'printf %s "$GANTRY_SANDBOX" | "$0" -d | { unset GANTRY_SANDBOX; exec "$@" 3<&0 0<&5 5<&-; }',
  ].join('\n');

export async function findTerminalTools(path: string): Promise<TerminalTools | string> {
  const bubblewrap = programIn(path, 'bwrap');
  if (bubblewrap === null) return 'bubblewrap (bwrap) is not installed';
  const base64 = programIn(path, 'base64');
  if (base64 === null) return 'base64, which is part of coreutils, is not installed';
  const env = programIn(path, 'env');
  const resets =
    env !== null &&
    (await runProcess({ command: [env, `--default-signal=${signals}`, 'true'], deadlineMs: probeMs }).then(
      ({ exitCode }) => exitCode === 0,
      () => false,
    ));
  return { bubblewrap, base64, env: resets ? env : null };
}

export function confineInTerminal(
  tools: TerminalTools,
  order: {
    readonly sandbox: Sandbox;
    readonly command: readonly [string, ...string[]];
    readonly env: Environment;
    /** A file with the system call filter; null without one. */
    readonly filterFile: string | null;
    /** Folders of control groups that it joins before anything else. */
    readonly groups?: readonly string[];
  },
): { readonly command: [string, ...string[]]; readonly env: Environment } {
  const { env: reset } = tools;
  const inner =
    reset === null
      ? order.command
      : [reset, `--default-signal=${signals}`, '/bin/sh', '-c', 'exec "$@"', 'sh', ...order.command];
  const { command, asides } = confine(
    tools.bubblewrap,
    { sandbox: order.sandbox, command: inner, env: order.env },
    order.filterFile === null ? null : process.arch,
  );
  const encoded = Buffer.from(asides?.[0] ?? '').toString('base64');
  if (encoded.length > maxVariable) {
    throw new AppError(
      'usage',
      `The variables of a program in a sandbox have ${encoded.length} bytes, encoded; at most ${maxVariable} fit.`,
      'Leave out long ones, such as in `env` of the team file.',
    );
  }
  return {
    command: [
      ...(['/bin/sh', '-c', script(reset !== null), tools.base64] as const),
      ...(order.groups ?? []),
      ...['--', order.filterFile ?? '/dev/null', ...command],
    ],
    env: { GANTRY_SANDBOX: encoded },
  };
}
