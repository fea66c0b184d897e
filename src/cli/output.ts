/**
 * The only way to stdout and to the exit code. With `--json`, stdout gets one JSON document and nothing else; without
 * it, stdout gets text for a person and stderr gets problems. Output quotes bots, programs and clouds, so control
 * characters are made harmless here, for every command.
 */
import { AppError, exitCode, type FactoryError } from '../contracts/common/errors.ts';
import { hanging, harmless, harmlessDrawing, harmlessJson, inCell, localTimes } from './words.ts';

interface Stream {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
}

export interface Output {
  readonly json: boolean;
  /** Columns to cut tables to; 0 where nobody looks. */
  readonly width: number;
  /** The one result of a command: the document, or what a person reads. `drawn`: a screen in Gantry's own colours. */
  result(document: unknown, text: () => string, how?: { readonly drawn: boolean }): void;
  /** A line for a person while a command works or after its result; further lines are set in. Never with `--json`. */
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
    result(document, text, how) {
      if (json) {
        if (given) throw new Error('A command gave two documents.');
        given = true;
        io.stdout.write(`${harmlessJson(document)}\n`);
        return;
      }
      const words = how?.drawn === true ? harmlessDrawing(text()) : harmless(text());
      if (words !== '') io.stdout.write(words.endsWith('\n') ? words : `${words}\n`);
    },
    note(text) {
      if (!json) io.stderr.write(`${harmless(hanging(text))}\n`);
    },
    line(text) {
      if (!json) io.stdout.write(`${harmless(text)}\n`);
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
        io.stderr.write(`${harmless(words.join('\n'))}\n`);
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
