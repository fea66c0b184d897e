/**
 * `shell.exec` (gaps.md B): one program with its arguments, or, with `shell: true`, a line for the system's shell. It begins in the
 * caller's root, sees no secret of Gantry's, and nothing that it started outlives it; `shell-sandbox.ts` says what confines it. Must
 * not know policy or approvals.
 */
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { runProcess } from '../../kit/process/run-process.ts';
import { createJail } from './jail.ts';
import type { ShellSandbox } from './shell-sandbox.ts';
import { defineTool, type Tool } from './tool.ts';

const defaultTimeoutMs = 2 * 60_000;
const longestTimeoutMs = 30 * 60_000;
/** Of each stream, bytes. */
const outputCap = 256 * 1024;

export interface ShellToolDeps {
  readonly sandbox: Pick<ShellSandbox, 'place'>;
  /** As {@link createJail} has it. */
  readonly hidden: readonly string[];
  readonly freshName: () => string;
}

export function createShellTool(deps: ShellToolDeps): Tool {
  return defineTool({
    name: 'shell.exec',
    title: 'Run a command',
    description:
      'Runs a program with its arguments and waits for its end. Nothing is expanded; with shell: true, command is a line for the shell instead. Programs that it leaves running are ended. Where this computer has a sandbox it changes your working folder alone, and /tmp is new each time.',
    input: z.strictObject({
      command: z.string().min(1).max(20_000),
      args: z.array(z.string().max(20_000)).max(1000).optional(),
      cwd: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .meta({ description: 'Inside your working folder; default: that folder.' }),
      env: z
        .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string().max(20_000))
        .optional()
        .meta({ description: 'More variables.' }),
      timeoutMs: z
        .number()
        .int()
        .min(100)
        .max(longestTimeoutMs)
        .optional()
        .meta({ description: `Default ${defaultTimeoutMs}.` }),
      stdin: z.string().max(1_000_000).optional(),
      shell: z.boolean().optional(),
    }),
    output: z.strictObject({
      exitCode: z.number().nullable(),
      exitSignal: z.string().nullable(),
      stdout: z.string(),
      stderr: z.string(),
      truncated: z.boolean(),
      timedOut: z.boolean(),
      confined: z.boolean().meta({ description: 'It ran in a sandbox.' }),
    }),
    readOnly: false,
    annotations: { destructiveHint: true, openWorldHint: true },
    async plan(input, caller) {
      const jail = await createJail({ root: caller.root, hidden: deps.hidden, freshName: deps.freshName });
      const located = jail.locate(input.cwd ?? '.');
      const line = [
        input.shell === true ? input.command : quoted(input.command),
        ...(input.args ?? []).map(quoted),
      ].join(' ');
      const timeoutMs = input.timeoutMs ?? defaultTimeoutMs;
      const more = Object.entries(input.env ?? {}).map(([name, value]) => `${name}=${quoted(value)}`);
      return {
        command: line,
        ...(more.length === 0 ? {} : { commandAsRun: `${more.join(' ')} ${line}` }),
        risk: 'high',
        title: `Run ${line.length > 80 ? `${line.slice(0, 79)}…` : line}`,
        summary: [
          line,
          ...(located === '' ? [] : [`in ${located}`]),
          ...(more.length === 0 ? [] : [`with ${more.join(' ')}`]),
          ...(input.stdin === undefined ? [] : [`given on its input:\n${input.stdin}`]),
        ].join('\n'),
        async run(signal) {
          const { confined, ...place } = await deps.sandbox.place({
            command:
              input.shell === true
                ? shellCommand(input.command, input.args ?? [])
                : [input.command, ...(input.args ?? [])],
            cwd: await jail.folder(input.cwd ?? '.'),
            root: jail.root,
            workspace: caller.workspace,
            env: { ...caller.env, ...input.env },
          });
          const ran = await runProcess({
            ...place,
            ...(input.stdin === undefined ? {} : { input: input.stdin }),
            deadlineMs: timeoutMs,
            outputCap,
            signal,
          });
          if (confined && ran.exitCode === 1 && ran.stderr.startsWith('bwrap: execvp')) {
            const fact = `${input.command} could not be started (${ran.stderr.trim().split(': ').pop()}).`;
            throw new AppError('usage', fact, 'Check that it is installed and in PATH.');
          }
          return {
            exitCode: ran.exitCode,
            exitSignal: ran.exitSignal,
            stdout: ran.stdout,
            stderr: ran.stderr,
            truncated: ran.truncated,
            timedOut: ran.ended === 'deadline',
            confined,
          };
        },
      };
    },
    say: (output) => {
      const how = output.timedOut
        ? 'ended by us: its time was over'
        : output.exitCode === null
          ? `ended by ${output.exitSignal ?? 'a signal'}`
          : `exit code ${output.exitCode}`;
      return [
        output.stdout,
        output.stderr === '' ? '' : `[stderr]\n${output.stderr}`,
        `[${how}${output.truncated ? '; output was cut' : ''}]`,
      ]
        .filter((part) => part !== '')
        .join('\n');
    },
  });
}

function shellCommand(line: string, args: readonly string[]): [string, ...string[]] {
  if (process.platform === 'win32') return ['cmd.exe', '/d', '/s', '/c', line, ...args];
  return ['/bin/sh', '-c', line, 'sh', ...args];
}

/** As one would type it. */
function quoted(word: string): string {
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
