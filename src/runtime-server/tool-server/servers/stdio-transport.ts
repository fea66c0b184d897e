/**
 * MCP over a child's streams, one JSON-RPC message a line, as a transport of the SDK's client: with limits that its own lacks. A line that is too
 * long fails the request that it answers; other lines than JSON-RPC are skipped; a flood is read slowly. Must not know tools.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';
import type { ServedProcess } from '../../../kit/process/served-process.ts';
import type { Base } from '../../base/base.ts';
import { createLineReader, type LongLine } from './line-reader.ts';
import { createPace } from './pace.ts';

export interface StdioTransport extends Transport {
  readonly pid: number;
  /** The SDK takes a transport that has one for a child's: silence there means an old server, not an outage. */
  readonly stderr: null;
  /** The first line that was no JSON-RPC; null while there was none. */
  garbage(): string | null;
}

/** Unsent bytes for a program that does not read. */
const maxUnread = 16 * 1024 * 1024;

export function createStdioTransport({
  child,
  largestMessage,
  parse,
  clock,
  timers,
}: Pick<Base, 'clock' | 'timers'> & {
  readonly child: ServedProcess;
  /** Of one message, bytes. */
  readonly largestMessage: number;
  /** Checks that a value is a JSON-RPC message, and throws otherwise. */
  readonly parse: (value: unknown) => JSONRPCMessage;
}): StdioTransport {
  const pace = createPace(clock);
  let garbage: string | null = null;
  let closed = false;

  const read = createLineReader({
    maxLength: largestMessage,
    onLine(line) {
      pace.count();
      let message: JSONRPCMessage;
      try {
        message = parse(JSON.parse(line));
      } catch {
        garbage ??= line.slice(0, 200);
        return;
      }
      transport.onmessage?.(message);
    },
    onLong(line) {
      const id = idOf(line);
      // It cannot be matched to a request: each of those has its own deadline.
      if (id === null) return;
      const message = `The server’s answer has ${line.length} bytes, more than ${largestMessage}`;
      transport.onmessage?.({ jsonrpc: '2.0', id, error: { code: -32603, message } });
    },
  });

  function finish(): void {
    if (closed) return;
    closed = true;
    transport.onclose?.();
  }

  const transport: StdioTransport = {
    pid: child.pid,
    stderr: null,
    garbage: () => garbage,
    async start() {
      child.stdout.on('data', (chunk: Buffer) => {
        read(chunk);
        const wait = pace.wait();
        if (wait === 0) return;
        child.stdout.pause();
        timers.after(wait, () => child.stdout.resume());
      });
      void child.exited.then(finish);
    },
    async send(message) {
      if (closed || !child.stdin.writable) throw new Error('The connection is closed.');
      if (child.stdin.writableLength > maxUnread) throw new Error('The server does not read its input.');
      if (child.stdin.write(`${JSON.stringify(message)}\n`)) return;
      // It reads slowly, or not at all: then its end or the deadline of the request ends the wait.
      await Promise.race([new Promise((resolve) => child.stdin.once('drain', resolve)), child.exited]);
    },
    async close() {
      await child.end();
      finish();
    },
  };
  return transport;
}

/** The id of an answer of which only both ends are known: first member of the object, or its last. */
function idOf({ head, tail }: LongLine): number | string | null {
  const found =
    /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*,/.exec(head) ??
    /,\s*"id"\s*:\s*(\d+)\s*\}\s*$/.exec(tail);
  return found === null ? null : Number(found[1]);
}
