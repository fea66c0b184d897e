/**
 * What an agent may ask of its client: files and terminals. A rule or a person decides about each as about the calls of tools, and the program beside the
 * agent carries it out. Must not know how.
 */
import { isAbsolute } from 'node:path';
import {
  type CreateTerminalRequest,
  type ReadTextFileRequest,
  RequestError,
  type TerminalExitStatus,
  type WriteTextFileRequest,
} from '@agentclientprotocol/sdk';
import type { CommandState } from '../../programs/acp-inside/protocol.ts';
import { type Inside, InsideFault } from './inside.ts';
import type { AskedCall } from './question.ts';

/** Bytes of a terminal's output, unless the agent wants fewer. */
const maxOutput = 1024 * 1024;
/** Characters of a change that a person can be shown. */
const maxShown = 200_000;
/** JSON-RPC has no code for it; those below -32000 are for servers to name. */
const notAllowed = -32_001;

export interface ClientMethods {
  readFile(request: ReadTextFileRequest, signal: AbortSignal): Promise<{ content: string }>;
  writeFile(request: WriteTextFileRequest, signal: AbortSignal): Promise<Record<string, never>>;
  createTerminal(request: CreateTerminalRequest, signal: AbortSignal): Promise<{ terminalId: string }>;
  output(terminal: string): Promise<{ output: string; truncated: boolean; exitStatus?: TerminalExitStatus }>;
  wait(terminal: string): Promise<TerminalExitStatus>;
  kill(terminal: string): Promise<Record<string, never>>;
  release(terminal: string): Promise<Record<string, never>>;
}

/** Null: it is allowed. Otherwise why not, in a sentence. */
export type May = (call: AskedCall, signal: AbortSignal) => Promise<string | null>;

export function createClientMethods(
  inside: Inside,
  {
    may,
    cwd,
    missingIsEmpty,
    shows,
  }: {
    readonly may: May;
    readonly cwd: string;
    readonly missingIsEmpty: boolean;
    /** The output of a terminal whose command has ended. */
    readonly shows: (terminal: string, output: string) => void;
  },
) {
  async function command(terminal: string, how: 'look' | 'wait' | 'kill' | 'release'): Promise<CommandState> {
    const state = await told(terminal, inside.command(terminal, how));
    if (state.exit !== null) shows(terminal, state.output);
    return state;
  }

  async function allowed(call: AskedCall, signal: AbortSignal): Promise<void> {
    const why = await may(call, signal);
    if (why !== null) throw new RequestError(notAllowed, why);
  }

  const call = (kind: string, title: string, more: Partial<AskedCall>): AskedCall => ({
    ...{ kind, title, input: undefined, diffs: [], places: [] },
    ...more,
  });

  const methods: ClientMethods = {
    async readFile({ path, line = null, limit = null }, signal) {
      mustBeAbsolute(path);
      await allowed(call('read', `Read ${path}`, { places: [path] }), signal);
      const reading = inside.readText(path, { line, limit }).catch((error: unknown) => {
        if (missingIsEmpty && error instanceof InsideFault && error.missing) return '';
        throw error;
      });
      return { content: await told(path, reading) };
    },
    async writeFile({ path, content }, signal) {
      mustBeAbsolute(path);
      const before = await inside.readText(path).catch((error: unknown) => {
        if (error instanceof InsideFault && error.missing) return null;
        throw toldOf(path, error);
      });
      const cut = content.length + (before?.length ?? 0) > maxShown;
      const diffs = [{ path, before, after: content, ...(cut ? { cut } : {}) }];
      await allowed(call('edit', `Write ${path}`, { diffs }), signal);
      await told(path, inside.writeText(path, content));
      return {};
    },
    async createTerminal({ command: program, args = [], env = [], cwd: folder, outputByteLimit }, signal) {
      const place = folder ?? cwd;
      mustBeAbsolute(place);
      const line = [program, ...args].join(' ');
      const variables = Object.fromEntries(env.map(({ name, value }) => [name, value]));
      const input = { command: line, ...(env.length === 0 ? {} : { env: variables }) };
      await allowed(call('execute', line, { input }), signal);
      const keep = Math.min(outputByteLimit ?? maxOutput, maxOutput);
      // Agents give a whole line, or a program and its arguments.
      const isLine = args.length === 0 && /\s/.test(program);
      const order = { command: program, args: isLine ? null : args, cwd: place, keep };
      return { terminalId: await told(program, inside.start({ ...order, env: variables })) };
    },
    async output(terminal) {
      const { output, truncated, exit } = await command(terminal, 'look');
      return { output, truncated, ...(exit === null ? {} : { exitStatus: statusOf(exit) }) };
    },
    async wait(terminal) {
      const { exit } = await command(terminal, 'wait');
      return statusOf(exit);
    },
    async kill(terminal) {
      await command(terminal, 'kill');
      return {};
    },
    async release(terminal) {
      await command(terminal, 'release');
      return {};
    },
  };
  return methods;
}

const statusOf = (exit: { readonly code: number | null; readonly signal: string | null } | null) => ({
  exitCode: exit?.code ?? null,
  signal: exit?.signal ?? null,
});

function mustBeAbsolute(path: string): void {
  if (!isAbsolute(path)) throw RequestError.invalidParams({ details: `${path} is not an absolute path` });
}

async function told<Result>(what: string, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    throw toldOf(what, error);
  }
}

function toldOf(what: string, error: unknown): unknown {
  if (!(error instanceof InsideFault)) return error;
  return error.missing ? RequestError.resourceNotFound(what) : RequestError.internalError({ details: error.message });
}
