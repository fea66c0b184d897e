/**
 * Between Gantry and the program that stands beside an agent over ACP: orders go in and answers come out on the pipes of the agent's own messages, each a
 * line that begins with a mark. Both ends import this file and nothing else of each other.
 */

/** No message of the agent's protocol begins with it: those are JSON. What the agent itself writes after it is dropped. */
export const mark = '\u001e';

export type Order =
  /** Answers its {@link FileText}. */
  | { readonly do: 'read'; readonly path: string; readonly line: number | null; readonly limit: number | null }
  /** Creates its folder, too. */
  | { readonly do: 'write'; readonly path: string; readonly text: string }
  /** Answers the command's number, a text. `args` null: `command` is a line for the shell. `keep`: bytes of its output, the newest. */
  | {
      readonly do: 'start';
      readonly command: string;
      readonly args: readonly string[] | null;
      readonly env: Readonly<Record<string, string>>;
      readonly cwd: string;
      readonly keep: number;
    }
  /** These answer a {@link CommandState}; `wait` once it has ended, `kill` once it was told to. `release` also forgets it. */
  | { readonly do: 'look' | 'wait' | 'kill' | 'release'; readonly command: string };

export interface FileText {
  readonly text: string;
}

export interface CommandState {
  readonly output: string;
  /** Older output is gone. */
  readonly truncated: boolean;
  /** Null while it runs. */
  readonly exit: { readonly code: number | null; readonly signal: string | null } | null;
}

/** `why`: a sentence without its subject's name, for the agent. */
export type Answer =
  | { readonly id: number; readonly is: unknown }
  | { readonly id: number; readonly missing: boolean; readonly why: string };

/** Bytes of a file that is read or written as a whole. */
export const maxFile = 4 * 1024 * 1024;
/** Bytes of an answer, as Gantry reads lines of agents. */
export const maxAnswer = 8 * 1024 * 1024 - 1024;
