/** Stores the simulated carrier's state: one file, replaced whole, so that a kill at any moment leaves a readable one. */
import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { emptyState, type State } from './state.ts';

interface StateFile {
  /** The stored state; an empty one at first. Throws on a file that is no state, and leaves it unchanged. */
  read(): State;
  write(state: State): void;
}

export function createStateFile(file: string): StateFile {
  return {
    read() {
      let text: string;
      try {
        text = readFileSync(file, 'utf8');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') return emptyState();
        throw error;
      }
      return stateOf(text, file);
    },
    write(state) {
      mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
      const beside = `${file}.new`;
      const open = openSync(beside, 'w', 0o600);
      try {
        const bytes = Buffer.from(JSON.stringify(state));
        for (let done = 0; done < bytes.length; ) done += writeSync(open, bytes, done);
        fsyncSync(open);
      } finally {
        closeSync(open);
      }
      renameSync(beside, file);
    },
  };
}

/** For tests that need no file. */
export function stateInMemory(): StateFile {
  return { read: emptyState, write: () => {} };
}

export function stateOf(text: string, where: string): State {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`${where} is not the state of a simulated carrier: ${(error as Error).message}`);
  }
  if (typeof value !== 'object' || value === null || (value as State).v !== 1)
    throw new Error(`${where} is not the state of a simulated carrier of version 1.`);
  const empty = emptyState();
  for (const [name, usual] of Object.entries(empty)) {
    const given = (value as Readonly<Record<string, unknown>>)[name];
    if (given !== undefined && usual !== null && kindOf(given) !== kindOf(usual))
      throw new Error(`${where} is not the state of a simulated carrier: its ${name} is ${kindOf(given)}.`);
  }
  return { ...empty, ...(value as State) };
}

const kindOf = (value: unknown) => (Array.isArray(value) ? 'a list' : value === null ? 'nothing' : typeof value);

/** The same state for an account whose events now go to another origin: replaces the old one in all addresses. */
export function movedTo(state: State, webhookUrl: string): State {
  const before = state.webhookUrl === null ? null : new URL(state.webhookUrl).origin;
  const { origin } = new URL(webhookUrl);
  if (before === null || before === origin) return { ...state, webhookUrl };
  const moved = JSON.parse(JSON.stringify(state).replaceAll(`"${before}/`, `"${origin}/`)) as State;
  return { ...moved, webhookUrl };
}
