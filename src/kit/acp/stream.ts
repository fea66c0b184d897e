/**
 * The wire of ACP: one JSON-RPC message a line, over the pipes of a process that may be written by anybody. A line that is no message, is too long, or
 * answers nothing that was asked is left out and reported; a flood waits in the pipe. Must not know what the messages mean.
 */
import type { Readable, Writable } from 'node:stream';
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk';
import { pause, type Timers } from '../clock/timers.ts';

interface StreamLimits {
  readonly maxLineBytes: number;
  /** More messages than this in a second wait for the next one. */
  readonly maxPerSecond: number;
}

const streamLimits: StreamLimits = { maxLineBytes: 8 * 1024 * 1024, maxPerSecond: 2000 };

interface StreamEnds {
  readonly input: Readable;
  readonly output: Writable;
  readonly timers: Timers;
  /** Aborted: nothing more is read. */
  readonly signal: AbortSignal;
  /** What was left out, in words. */
  readonly onLeftOut: (what: string) => void;
  /** Lines that begin with this mark are no messages: what follows it goes here. */
  readonly aside?: { readonly mark: string; readonly take: (line: string) => void } | undefined;
}

export function messageStream(ends: StreamEnds, limits = streamLimits): Stream {
  /** Requests that were sent and not answered yet, by id. */
  const asked = new Set<unknown>();
  const messages = read(ends, limits, asked);
  return {
    readable: new ReadableStream<AnyMessage>(
      {
        async pull(controller) {
          const { value, done } = await messages.next();
          if (done === true) controller.close();
          else controller.enqueue(value);
        },
        async cancel() {
          ends.input.destroy();
        },
      },
      { highWaterMark: 0 },
    ),
    writable: new WritableStream<AnyMessage>({
      write(message) {
        if ('method' in message && 'id' in message) asked.add(message.id);
        return write(ends.output, `${JSON.stringify(message)}\n`);
      },
    }),
  };
}

/** Resolves when the pipe can take more. One that is closed takes everything: the end of the process is reported elsewhere. */
function write(output: Writable, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (output.destroyed || output.writableEnded) resolve();
    else output.write(text, () => resolve());
  });
}

async function* read(
  { input, timers, signal, onLeftOut, aside }: StreamEnds,
  { maxLineBytes, maxPerSecond }: StreamLimits,
  asked: Set<unknown>,
): AsyncGenerator<AnyMessage, undefined> {
  let inSecond = 0;
  let isSecondOver = true;
  for await (const line of lines(input, maxLineBytes, onLeftOut)) {
    if (aside !== undefined && line.startsWith(aside.mark)) {
      aside.take(line.slice(aside.mark.length));
      continue;
    }
    const message = messageIn(line, asked);
    if (message === null) {
      if (line.trim() !== '') onLeftOut(`a line that is no message: ${line.trim().slice(0, 200)}`);
      continue;
    }
    if (isSecondOver) {
      inSecond = 0;
      isSecondOver = false;
      timers.after(1000, () => {
        isSecondOver = true;
      });
    }
    inSecond += 1;
    while (inSecond > maxPerSecond && !isSecondOver && !signal.aborted) await pause(timers, 50, signal);
    if (signal.aborted) return;
    yield message;
  }
}

/** Splits at bytes: a character may lie in two chunks. */
async function* lines(
  input: Readable,
  maxBytes: number,
  onLeftOut: (what: string) => void,
): AsyncGenerator<string, undefined> {
  let parts: Buffer[] = [];
  let size = 0;
  let isTooLong = false;
  const take = (): string | null => {
    const whole = isTooLong ? null : Buffer.concat(parts).toString('utf8');
    if (isTooLong) onLeftOut(`a line of more than ${maxBytes} bytes`);
    parts = [];
    size = 0;
    isTooLong = false;
    return whole;
  };
  const add = (part: Buffer) => {
    size += part.length;
    if (size > maxBytes) {
      isTooLong = true;
      parts = [];
    } else if (part.length > 0) parts.push(part);
  };
  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      let from = 0;
      for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, from)) {
        add(chunk.subarray(from, end));
        from = end + 1;
        const line = take();
        if (line !== null) yield line;
      }
      add(chunk.subarray(from));
    }
  } catch {
    // The pipe was closed in the middle: the process has ended, or was ended.
    return;
  }
  const rest = take();
  if (rest !== null && rest !== '') yield rest;
}

/** Null: nothing that the other side may send. An answer to a question that nobody asked is one of these. */
function messageIn(line: string, asked: Set<unknown>): AnyMessage | null {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || !('jsonrpc' in value) || value.jsonrpc !== '2.0') return null;
  if ('method' in value) return typeof value.method === 'string' ? (value as AnyMessage) : null;
  if (!('id' in value) || 'result' in value === 'error' in value) return null;
  return asked.delete(value.id) ? (value as AnyMessage) : null;
}
