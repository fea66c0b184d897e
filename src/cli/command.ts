/**
 * What a command is: data for help, completion and the parser, and a way to load what it does only when it is called.
 * Must not know any part.
 */
import { AppError } from '../contracts/common/errors.ts';
import type { CommandNames } from './command-name.ts';
import type { Connection, Env } from './connect.ts';
import type { Output } from './output.ts';

interface Terminal {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

export interface Context {
  readonly output: Output;
  readonly names: CommandNames;
  readonly env: Env;
  readonly cwd: string;
  readonly terminal: Terminal;
  readonly now: () => number;
  /** Proves the server first; made once a command. */
  connect(): Promise<Connection>;
}

export interface Input {
  /** Arguments by the names of the syntax; a `…` argument is a list. */
  readonly args: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly options: Readonly<Record<string, unknown>>;
}

/** Resolves with the exit code; nothing means 0. */
export type Action = (context: Context, input: Input) => Promise<number | undefined>;

export interface Option {
  /** As the parser takes it: `--lines <n>`. */
  readonly flags: string;
  readonly about: string;
}

export interface Verb {
  readonly name: string;
  /** `<bot> [text...]` */
  readonly args?: string;
  readonly about: string;
  readonly more?: string;
  readonly options?: readonly Option[];
  /** Changes something: has `--dry-run`. */
  readonly mutation?: boolean;
  /** Serves or works on after its result, until it is ended. */
  readonly stays?: boolean;
  readonly load: () => Promise<Action>;
}

export interface Part {
  readonly name: string;
  readonly about: string;
  readonly verbs: readonly Verb[];
}

export function text(input: Input, name: string): string {
  const value = input.args[name] ?? input.options[name];
  if (typeof value === 'string') return value;
  if (name in input.args) throw new AppError('usage', `${name} is missing.`, 'Give it; --help shows the order.');
  const option = optionOf(name);
  throw new AppError('usage', `${option} is missing.`, `Give ${option} "<text>"; --help says what it is.`);
}

/** As it is typed: the parser calls `--key-file` `keyFile`. */
function optionOf(name: string): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

export function optionalText(input: Input, name: string): string | undefined {
  const value = input.args[name] ?? input.options[name];
  return typeof value === 'string' ? value : undefined;
}

export function words(input: Input, name: string): readonly string[] {
  const value = input.args[name] ?? input.options[name];
  return Array.isArray(value) ? value.map(String) : [];
}

export function flag(input: Input, name: string): boolean {
  return input.options[name] === true;
}

/** `undefined` when the option was not given. */
export function optionalFlag(input: Input, name: string): boolean | undefined {
  const value = input.options[name];
  return typeof value === 'boolean' ? value : undefined;
}

export function integer(input: Input, name: string, from: number, to: number): number | undefined {
  const value = optionalText(input, name);
  if (value === undefined) return undefined;
  const number = /^-?[0-9]{1,15}$/.test(value) ? Number(value) : Number.NaN;
  if (!(number >= from && number <= to)) {
    const fact = `${optionOf(name)} is ${JSON.stringify(value)}.`;
    throw new AppError('usage', fact, `Give a whole number from ${from} to ${to}.`);
  }
  return number;
}
