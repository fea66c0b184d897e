/** Looks at the first bytes of a connection, and leaves to it what is not used up. Must not know what they mean. */
import type { Duplex } from 'node:stream';
import type { HostAndPort } from '../../kit/egress/host-name.ts';
import { type Speech, speechOf } from './sniff.ts';

interface Peeked<T> {
  readonly found: T;
  /** The connection has ended: bytes that were not used up, which it no longer holds. */
  readonly rest: Buffer;
}

/** Null while more bytes are needed. `ended`: there will be none. */
type Find<T> = (bytes: Buffer, ended: boolean) => { readonly found: T; readonly used: number } | null;

/** Null: it ended, or the time ran out. `firstMs`: until the first byte, `thenMs` from then on; milliseconds, null: any time. */
function peek<T>(
  from: Duplex,
  find: Find<T>,
  { firstMs, thenMs }: { readonly firstMs: number | null; readonly thenMs: number },
): Promise<Peeked<T> | null> {
  return new Promise((resolve) => {
    let bytes = Buffer.alloc(0);
    let timer = firstMs === null ? undefined : setTimeout(() => finish(null), firstMs);
    from.on('readable', read).once('end', ended).once('close', closed);
    // Their events have been.
    if (from.destroyed) closed();
    else if (from.readableEnded) ended();

    function read(): void {
      const before = bytes.length;
      for (let chunk: Buffer | null = from.read(); chunk !== null; chunk = from.read()) {
        bytes = Buffer.concat([bytes, chunk]);
      }
      if (bytes.length === before) return;
      if (before === 0) {
        clearTimeout(timer);
        timer = setTimeout(() => finish(null), thenMs);
      }
      const answer = find(bytes, false);
      if (answer === null) return;
      finish({ found: answer.found, rest: Buffer.alloc(0) });
      if (answer.used < bytes.length) from.unshift(bytes.subarray(answer.used));
    }
    function ended(): void {
      const answer = find(bytes, true);
      finish(answer === null ? null : { found: answer.found, rest: bytes.subarray(answer.used) });
    }
    function closed(): void {
      finish(null);
    }
    function finish(answer: Peeked<T> | null): void {
      clearTimeout(timer);
      from.off('readable', read).off('end', ended).off('close', closed);
      resolve(answer);
    }
  });
}

interface Opening extends HostAndPort {
  readonly way: 'proxy' | 'tcp' | 'engine';
}

const maxOpeningLine = 4 * 1024;
const openingMs = 5000;

/** The first line, which says what the connection is for. Null: it is no such line. */
export async function readOpening(client: Duplex): Promise<Opening | null> {
  const peeked = await peek(
    client,
    (bytes, ended) => {
      const end = bytes.indexOf('\n');
      if (end >= 0 && end < maxOpeningLine) return { found: openingIn(bytes.toString('utf8', 0, end)), used: end + 1 };
      return ended || bytes.length >= maxOpeningLine ? { found: null, used: 0 } : null;
    },
    { firstMs: openingMs, thenMs: openingMs },
  );
  return peeked?.found ?? null;
}

function openingIn(line: string): Opening | null {
  try {
    const { way, host, port } = JSON.parse(line) as Record<string, unknown>;
    if (way === 'proxy' || way === 'engine') return { way, host: '', port: 0 };
    if (way !== 'tcp' || typeof host !== 'string' || !Number.isInteger(port)) return null;
    return { way, host, port: port as number };
  } catch {
    return null;
  }
}

const speechMs = 10_000;

/** What the program speaks; its bytes stay with the connection, or are in `rest` if it has ended. Null: it cannot be told. */
export function readSpeech(client: Duplex, firstMs: number | null): Promise<Peeked<Speech> | null> {
  return peek(
    client,
    (bytes, ended) => {
      const found = speechOf(bytes, ended);
      return found === null ? null : { found, used: 0 };
    },
    { firstMs, thenMs: speechMs },
  );
}
