/** A program under test in a separate process: started, read line by line, killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

export interface Victim {
  readonly pid: number;
  readonly child: ChildProcess;
  /** Everything it printed so far, line by line. */
  readonly lines: readonly string[];
  onLine(listener: (line: string) => void): void;
  /** First line, past or future, for which `match` holds; fails when the program ends before. */
  until(match: (line: string) => boolean): Promise<string>;
  /** Resolves when it has ended and its output is read. */
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  kill(signal?: NodeJS.Signals): Promise<{ code: number | null; signal: string | null }>;
}

export interface VictimOptions {
  readonly command: readonly [string, ...string[]];
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export function startVictim(options: VictimOptions): Victim {
  const [program, ...argv] = options.command;
  const child = spawn(program, argv, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  const listeners = new Set<(line: string) => void>();
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-4000);
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    lines.push(line);
    for (const listener of [...listeners]) listener(line);
  });
  const ended = new Promise<{ code: number | null; signal: string | null }>((resolve) => {
    child.once('close', (code, signal) => resolve({ code, signal }));
    child.once('error', () => resolve({ code: null, signal: null }));
  });

  return {
    pid: child.pid ?? 0,
    child,
    lines,
    onLine: (listener) => {
      listeners.add(listener);
    },
    until: (match) =>
      new Promise((resolve, reject) => {
        const look = (line: string) => {
          if (!match(line)) return;
          listeners.delete(look);
          resolve(line);
        };
        const past = lines.find(match);
        if (past !== undefined) return resolve(past);
        listeners.add(look);
        void ended.then((end) => reject(new Error(`${argv[0]} ended (${end.code ?? end.signal}): ${errors}`)));
      }),
    ended,
    kill: (signal = 'SIGKILL') => {
      child.kill(signal);
      return ended;
    },
  };
}
