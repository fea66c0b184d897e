/**
 * JSON lines in `<home>/logs/<name>.log`, rotated by size. Own code: a line costs one write, there is no stream to flush when
 * the program is killed, and a logging library would cost more memory than all of this (idle budget of `factory.start-memory`).
 * First users: the runtime and the cloud API. Owns the shape of a line; must not know what is worth logging.
 */
import { closeSync, fstatSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../clock/clock.ts';
import { iso } from '../clock/clock.ts';
import { scrub } from './scrub.ts';

/** Facts of a line: flat. Nested values are not written, because nobody has checked their content. */
type LogFacts = Readonly<Record<string, unknown>>;

export interface Log {
  info(message: string, facts?: LogFacts): void;
  warn(message: string, facts?: LogFacts): void;
  error(message: string, facts?: LogFacts): void;
  close(): void;
}

export function createLog(options: {
  readonly folder: string;
  /** File name without `.log`. */
  readonly name: string;
  readonly clock: Clock;
  /** Bytes after which the file is rotated; default 5 MiB. */
  readonly maxBytes?: number;
  /** Older files kept; default 3. */
  readonly keep?: number;
  /** Secrets in use that must never appear. */
  readonly known?: () => readonly string[];
  /** The span that runs now: each line names it. */
  readonly trace?: () => Readonly<Record<string, string>> | null;
}): Log {
  const path = join(options.folder, `${options.name}.log`);
  const maxBytes = options.maxBytes ?? 5 * 1024 * 1024;
  const keep = options.keep ?? 3;
  mkdirSync(options.folder, { recursive: true, mode: 0o700 });
  let file: number | null = null;
  let size = 0;

  function open(): number {
    file = openSync(path, 'a', 0o600);
    size = fstatSync(file).size;
    return file;
  }

  function rotate(): void {
    close();
    rmSync(`${path}.${keep}`, { force: true });
    for (let number = keep - 1; number >= 0; number -= 1) {
      const from = number === 0 ? path : `${path}.${number}`;
      try {
        renameSync(from, `${path}.${number + 1}`);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      }
    }
  }

  function write(level: string, message: string, facts: LogFacts = {}): void {
    const known = options.known?.() ?? [];
    const clean = (text: string) => scrub(text, known);
    const line = {
      at: iso(options.clock.now()),
      level,
      message: clean(message),
      ...options.trace?.(),
      ...flat(facts, clean),
    };
    try {
      const target = file ?? open();
      size += writeSync(target, `${JSON.stringify(line)}\n`);
      if (size >= maxBytes) rotate();
    } catch {
      // A log that cannot be written (disk full) must never stop the program.
      close();
    }
  }

  function close(): void {
    if (file === null) return;
    const open = file;
    file = null;
    closeSync(open);
  }

  return {
    info: (message, facts) => write('info', message, facts),
    warn: (message, facts) => write('warn', message, facts),
    error: (message, facts) => write('error', message, facts),
    close,
  };
}

function flat(facts: LogFacts, clean: (text: string) => string): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(facts)) {
    if (value === undefined || name === 'at' || name === 'level' || name === 'message') continue;
    if (typeof value === 'string') out[name] = clean(value);
    else if (typeof value === 'number' || typeof value === 'boolean' || value === null) out[name] = value;
    else if (value instanceof Error) Object.assign(out, { [name]: clean(describe(value)) });
    else out[name] = `[${Array.isArray(value) ? 'array' : typeof value}]`;
  }
  return out;
}

/** Name, message and place; never the members that libraries attach to errors (requests, configurations). */
function describe(error: Error): string {
  const lines = (error.stack ?? '').split('\n').map((line) => line.trim());
  const frames = lines.filter((line) => line.startsWith('at ')).slice(0, 5);
  return [`${error.name}: ${error.message}`, ...frames].join(' | ');
}
