/**
 * The only way to stdout and to the exit code. With `--json`, stdout gets one JSON document and nothing else; without
 * it, stdout gets text for a person and stderr gets problems. Output quotes bots, programs and clouds, so control
 * characters are made harmless here, for every command.
 */

import { spawnSync } from 'node:child_process';
import { AppError, exitCode, type FactoryError } from '../contracts/common/errors.ts';
import type { Env } from './connect.ts';
import { coloured, paint, wantsColours } from './paint.ts';
import { createProgress, type Progress } from './progress.ts';
import { hanging, harmless, harmlessDrawing, harmlessJson, inCell, localTimes } from './words.ts';

interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

export interface Output {
  readonly json: boolean;
  /** Columns to cut tables to; 0 where nobody looks. */
  readonly width: number;
  /** The one result of a command: the document, or what a person reads. `drawn`: a screen in Gantry's own colours. */
  result(document: unknown, text: () => string, how?: { readonly drawn: boolean }): void;
  /** A line for a person while a command works or after its result; further lines are set in. Never with `--json`. */
  note(text: string): void;
  /** How far long work is, on stderr, where a person looks on. */
  progress(what: string): Progress;
  /** Text that grows (events, help of a long command); never with `--json`. */
  line(text: string): void;
  /** Prints the problem and answers its exit code. */
  problem(error: unknown): number;
}

/** `stays`: the command continues after its result, so no pager may hold it up. */
export function createOutput(
  io: { stdout: Stream; stderr: Stream },
  json: boolean,
  env: Env = {},
  stays: () => boolean = () => false,
): Output {
  let given = false;
  const colours = { stdout: !json && wantsColours(io.stdout, env), stderr: wantsColours(io.stderr, env) };
  const show = (text: string): void => {
    const { isTTY, rows } = io.stdout;
    const pager =
      isTTY === true && rows !== undefined && !stays() && text.split('\n').length > rows ? pagerOf(env) : null;
    if (pager === null || !page(text, pager, env)) io.stdout.write(text);
  };
  return {
    json,
    width: io.stdout.isTTY === true ? (io.stdout.columns ?? 0) : 0,
    result(document, text, how) {
      if (json) {
        if (given) throw new Error('A command gave two documents.');
        given = true;
        io.stdout.write(`${harmlessJson(document)}\n`);
        return;
      }
      const drawn = how?.drawn === true;
      const words = drawn ? harmlessDrawing(text()) : coloured(harmless(text()), colours.stdout);
      if (words === '') return;
      const whole = words.endsWith('\n') ? words : `${words}\n`;
      if (drawn) io.stdout.write(whole);
      else show(whole);
    },
    note(text) {
      if (!json) io.stderr.write(`${coloured(harmless(hanging(text)), colours.stderr)}\n`);
    },
    progress: (what) => createProgress(json ? null : io.stderr, what),
    line(text) {
      if (!json) io.stdout.write(`${coloured(harmless(text), colours.stdout)}\n`);
    },
    problem(error) {
      const known = asAppError(error);
      if (json && !given) {
        given = true;
        const body: FactoryError = known.toFactory();
        io.stdout.write(`${harmlessJson(body)}\n`);
      } else {
        // A fact of several lines is set in: none of them can pass for one that Gantry says.
        const words = [known.fact, known.action].filter((part) => part !== '').map((part) => hanging(localTimes(part)));
        const [fact = '', ...rest] = words.map(harmless);
        const lines = [...fact.split('\n').map((line) => paint('red', line)), ...rest];
        io.stderr.write(`${coloured(lines.join('\n'), colours.stderr)}\n`);
        const requestId = known.options.extra?.requestId;
        if (known.code === 'internal' && typeof requestId === 'string')
          io.stderr.write(`Request ${inCell(requestId)}\n`);
      }
      return exitCode[known.code];
    },
  };
}

/** Faults of our own become `internal`: a stack is for `GANTRY_DEBUG=1`, never for a person. */
export function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const message = error instanceof Error ? error.message : String(error);
  return new AppError(
    'internal',
    `A fault in Gantry: ${message}`,
    'Run it again with GANTRY_DEBUG=1 and report what it prints.',
    {
      cause: error,
    },
  );
}

/** The pager's command line; null: none is wanted, or nobody could turn the page. */
function pagerOf(env: Env): string | null {
  // A bot in its pane would wait before the first page for ever.
  if (process.platform === 'win32' || env.GANTRY_TOKEN_FILE !== undefined || env.TERM === 'dumb') return null;
  const wanted = env.PAGER ?? 'less';
  return wanted === '' || wanted === 'cat' ? null : wanted;
}

/** Shows a long text in the pager, and returns when the person leaves it. False: it could not be started, and nothing was shown. */
function page(text: string, pager: string, env: Env): boolean {
  // The pager answers Ctrl-C itself; without a listener it would end this process and leave the pager alone on the terminal.
  const ignore = () => {};
  process.on('SIGINT', ignore);
  try {
    const ran = spawnSync('/bin/sh', ['-c', pager], {
      input: text,
      stdio: ['pipe', 'inherit', 'inherit'],
      env: { LESS: 'FRX', ...env },
    });
    // The shell's answers for a program that is not there or cannot be run.
    return ran.error === undefined && ran.status !== 127 && ran.status !== 126;
  } finally {
    process.off('SIGINT', ignore);
  }
}
