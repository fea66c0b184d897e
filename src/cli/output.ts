/**
 * The one way to stdout and to the exit code. With `--json` stdout gets one JSON document and nothing else
 * (interface.md, Command-line contract); without, text for a person, and problems on stderr.
 */
import { AppError, exitCode, type FactoryError } from '../contracts/common/errors.ts';
import { harmless, localTimes } from './words.ts';

export interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface Output {
  readonly json: boolean;
  /** Columns to cut tables to; 0 where nobody looks. */
  readonly width: number;
  /** The one result of a command: the document, or what a person reads. */
  result(document: unknown, text: () => string): void;
  /** A line for a person while a command works or after its result; never with `--json`. */
  note(text: string): void;
  /** Text that grows (events, help of a long command); never with `--json`. */
  line(text: string): void;
  /** Prints the problem and answers its exit code. */
  problem(error: unknown): number;
}

export function createOutput(io: { stdout: Stream; stderr: Stream }, json: boolean): Output {
  let given = false;
  return {
    json,
    width: io.stdout.isTTY === true ? (io.stdout.columns ?? 0) : 0,
    result(document, text) {
      if (json) {
        if (given) throw new Error('A command gave two documents.');
        given = true;
        io.stdout.write(`${JSON.stringify(document)}\n`);
        return;
      }
      const words = text();
      if (words !== '') io.stdout.write(words.endsWith('\n') ? words : `${words}\n`);
    },
    note(text) {
      if (!json) io.stderr.write(`${text}\n`);
    },
    line(text) {
      if (!json) io.stdout.write(`${text}\n`);
    },
    problem(error) {
      const known = asAppError(error);
      if (json && !given) {
        given = true;
        const body: FactoryError = known.toFactory();
        io.stdout.write(`${JSON.stringify(body)}\n`);
      } else {
        // Problems quote clouds, bots and programs.
        const words = harmless(localTimes(known.fact + (known.action === '' ? '' : `\n${known.action}`)));
        io.stderr.write(`${words}\n`);
        const requestId = known.options.extra?.requestId;
        if (known.code === 'internal' && typeof requestId === 'string') io.stderr.write(`Request ${requestId}\n`);
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
