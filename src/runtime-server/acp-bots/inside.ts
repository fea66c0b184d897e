/**
 * The program beside an agent, which does what was allowed where the agent runs (src/programs/acp-inside). Owns which orders wait for an answer. Must not
 * know what the agent asked for.
 */
import type { Writable } from 'node:stream';
import { type Answer, type CommandState, type FileText, mark, type Order } from '../../programs/acp-inside/protocol.ts';
import { record } from '../harness/values.ts';

export interface Inside {
  readText(path: string, part?: { readonly line: number | null; readonly limit: number | null }): Promise<string>;
  writeText(path: string, text: string): Promise<void>;
  /** Answers its number. `args` null: `command` is a line for the shell. */
  start(order: Omit<Extract<Order, { do: 'start' }>, 'do'>): Promise<string>;
  command(name: string, how: 'look' | 'wait' | 'kill' | 'release'): Promise<CommandState>;
}

/** An order that could not be carried out: `missing`, because there is no such file. */
export class InsideFault extends Error {
  readonly missing: boolean;

  constructor(missing: boolean, message: string) {
    super(message);
    this.missing = missing;
  }
}

export function createInside(output: Writable, gone: Promise<string>) {
  const waiting = new Map<number, { readonly done: (is: unknown) => void; readonly failed: (fault: Error) => void }>();
  let next = 0;
  void gone.then((why) => {
    for (const { failed } of waiting.values()) failed(new InsideFault(false, why));
    waiting.clear();
  });

  function ask<Result>(order: Order): Promise<Result> {
    next += 1;
    const id = next;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    waiting.set(id, { done: resolve, failed: reject });
    if (output.destroyed || output.writableEnded) reject(new InsideFault(false, 'the agent has ended'));
    else output.write(`${mark}${JSON.stringify({ id, order })}\n`);
    return promise as Promise<Result>;
  }

  const inside: Inside = {
    readText: async (path, part = { line: null, limit: null }) =>
      (await ask<FileText>({ do: 'read', path, ...part })).text,
    writeText: (path, text) => ask({ do: 'write', path, text }),
    start: (order) => ask({ do: 'start', ...order }),
    command: (command, how) => ask({ do: how, command }),
  };
  return {
    inside,
    aside: {
      mark,
      take(line: string): void {
        const answer = answerIn(line);
        const known = answer === null ? undefined : waiting.get(answer.id);
        if (answer === null || known === undefined) return;
        waiting.delete(answer.id);
        if ('why' in answer) known.failed(new InsideFault(answer.missing, answer.why));
        else known.done(answer.is);
      },
    },
  };
}

/** Null if the line is not an answer. */
function answerIn(line: string): Answer | null {
  try {
    const said = record(JSON.parse(line));
    return typeof said.id === 'number' ? (said as unknown as Answer) : null;
  } catch {
    return null;
  }
}
