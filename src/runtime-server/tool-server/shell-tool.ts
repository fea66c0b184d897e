/**
 * `shell.exec`: one program with its arguments, or, with `shell: true`, a line for the system's shell. It starts in the caller's
 * root, sees no secret of Gantry's, and nothing that it started outlives it; `shell-sandbox.ts` says what confines it. Must not
 * know policy or approvals.
 */
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join, resolve } from 'node:path';
import { z } from 'zod';
import { AppError } from '../../contracts/common/errors.ts';
import { type RunResult, runProcess } from '../../kit/process/run-process.ts';
import { createJail } from './jail.ts';
import type { ShellSandbox } from './shell-sandbox.ts';
import { defineTool, type Tool, type ToolCaller } from './tool.ts';
import { setUpstreams } from './upstream.ts';
import { isIn } from './what-runs-finder.ts';

const defaultTimeoutMs = 2 * 60_000;
const maxTimeoutMs = 30 * 60_000;
/** Of each stream, bytes. */
const outputCap = 256 * 1024;

export function createShellTool(deps: {
  readonly sandbox: Pick<ShellSandbox, 'place'>;
  /** As {@link createJail} has it. */
  readonly hidden: readonly string[];
  readonly freshName: () => string;
  /** PATH comes from here where the caller sets none. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Whether a rule lets this caller write a file of this absolute path. */
  readonly mayWrite: (path: string, caller: ToolCaller) => boolean;
}): Tool {
  return defineTool({
    name: 'shell.exec',
    title: 'Run a command',
    description:
      'Runs a program with its arguments and waits until it ends. Nothing is expanded; with shell: true, command is a shell command line instead. Programs that it leaves running are ended. If this computer has a sandbox, the program can change only your working folder, except files that say what may run (.gantry, .git/hooks and .git/config, settings of agent programs and editors, AGENTS.md, .npmrc and the like), and /tmp is new each time. Without a sandbox, nothing confines it.',
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
        .meta({ description: 'Additional variables.' }),
      timeoutMs: z
        .number()
        .int()
        .min(100)
        .max(maxTimeoutMs)
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
      confined: z
        .boolean()
        .meta({ description: 'Whether it ran in a sandbox. If false, nothing kept it from the person’s files.' }),
      notes: z
        .array(z.string())
        .optional()
        .meta({ description: 'What Gantry moved aside, put back or set for git after the command.' }),
    }),
    readOnly: false,
    annotations: { destructiveHint: true, openWorldHint: true },
    async plan(given, caller) {
      const jail = await createJail({ root: caller.root, hidden: deps.hidden, freshName: deps.freshName });
      const located = jail.locate(given.cwd ?? '.');
      const path = given.env?.PATH ?? caller.env.PATH ?? deps.env.PATH ?? '';
      const input = given.shell === true ? given : { ...given, ...asProgram(given, join(jail.root, located), path) };
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
        summary: line,
        details: [
          ...(located === '' ? [] : [{ name: 'Folder', text: located }]),
          ...(more.length === 0 ? [] : [{ name: 'Variables', text: more.join(' ') }]),
          ...(input.stdin === undefined ? [] : [{ name: 'Input', text: input.stdin }]),
        ],
        async run(signal) {
          const cwd = await jail.folder(input.cwd ?? '.');
          const { confined, roots, settle, ...place } = await deps.sandbox.place({
            command:
              input.shell === true
                ? shellCommand(input.command, input.args ?? [])
                : [input.command, ...(input.args ?? [])],
            cwd,
            root: jail.root,
            checkout: caller.checkout,
            env: { ...caller.env, ...input.env },
            mayWrite: (path) => deps.mayWrite(path, caller),
          });
          const notes: string[] = [];
          let ran: RunResult;
          try {
            ran = await runProcess({
              ...place,
              ...(input.stdin === undefined ? {} : { input: input.stdin }),
              deadlineMs: timeoutMs,
              outputCap,
              signal,
            });
          } finally {
            notes.push(...(await settle()));
          }
          if (confined && ran.exitCode === 1 && ran.stderr.startsWith('bwrap: execvp')) {
            const fact = `${input.command} could not be started (${ran.stderr.trim().split(': ').pop()}).`;
            throw new AppError('usage', fact, 'Check that it is installed and in PATH.');
          }
          if (confined) {
            const isOurs = (repository: string) => roots.some((one) => isIn(one, repository));
            const printed = `${ran.stdout}\n${ran.stderr}`;
            notes.push(...(await setUpstreams({ cwd, line, printed, isOurs })));
          }
          return {
            exitCode: ran.exitCode,
            exitSignal: ran.exitSignal,
            stdout: ran.stdout,
            stderr: ran.stderr,
            truncated: ran.truncated,
            timedOut: ran.ended === 'deadline',
            confined,
            ...(notes.length === 0 ? {} : { notes }),
          };
        },
      };
    },
    say: (output) => {
      const how = output.timedOut
        ? 'timed out and was ended'
        : output.exitCode === null
          ? `ended by ${output.exitSignal ?? 'a signal'}`
          : `exit code ${output.exitCode}`;
      return [
        output.stdout,
        output.stderr === '' ? '' : `[stderr]\n${output.stderr}`,
        ...(output.notes ?? []).map((note) => `[${note}]`),
        `[${how}${output.truncated ? '; output was cut' : ''}${output.confined ? '' : '; not confined'}]`,
      ]
        .filter((part) => part !== '')
        .join('\n');
    },
  });
}

/**
 * The program and its arguments. A line in place of a program (`ls -la`) is split where that is certain; a program that could not start is an error
 * before anybody is asked about it.
 */
function asProgram(
  { command, args = [] }: { readonly command: string; readonly args?: readonly string[] | undefined },
  cwd: string,
  path: string,
): { command: string; args: string[] } {
  if (process.platform === 'win32' || isProgram(command, cwd, path)) return { command, args: [...args] };
  const words = command.trim().split(/[ \t]+/);
  const [first = ''] = words;
  if (words.length > 1 && plainWords.test(command) && isProgram(first, cwd, path)) {
    return { command: first, args: [...words.slice(1), ...args] };
  }
  if (words.length > 1) {
    const fact = `${JSON.stringify(command.slice(0, 200))} is a command line, not one program.`;
    throw new AppError('usage', fact, 'Give the program as command and each argument in args, or set shell: true.');
  }
  const fact = `${command.slice(0, 200)} could not be started: there is no such program here.`;
  throw new AppError('usage', fact, 'Check its name, and that it is installed and in PATH.');
}

/** Words that a shell would pass on unchanged: nothing is quoted, expanded or matched. */
const plainWords = /^[A-Za-z0-9_@%+=:,./ \t-]+$/;

function isProgram(name: string, cwd: string, path: string): boolean {
  const folders = name.includes('/') ? [''] : path.split(delimiter);
  return folders.some((folder) => {
    try {
      const file = resolve(cwd, folder, name);
      accessSync(file, constants.X_OK);
      return statSync(file).isFile();
    } catch {
      return false;
    }
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
