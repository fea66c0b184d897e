/**
 * Reads `multipart/form-data` (RFC 7578) as a stream of parts; a part's body is read before the next part comes, and is never held
 * whole. First user: proofs of nodes; second: files sent into threads. Must not know what the parts mean.
 */
import { AppError } from '../../contracts/common/errors.ts';

export interface FormPart {
  readonly name: string;
  readonly filename: string | null;
  readonly type: string | null;
  /** Whatever is unread when the next part is requested is skipped. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Headers of one part, bytes. */
const maxHeadersLength = 8 * 1024;
const maxParts = 20;

export function boundaryOf(contentType: string | undefined): string {
  const match = /;\s*boundary=(?:"([^"]{1,70})"|([^\s;"]{1,70}))\s*(?:;|$)/i.exec(contentType ?? '');
  const boundary = match?.[1] ?? match?.[2];
  if (boundary === undefined) throw bad('The form has no boundary.');
  return boundary;
}

/** Parts of the form in order. Rejects with `usage` for a body that is no form or is cut off. */
export async function* readParts(source: AsyncIterable<Uint8Array>, boundary: string): AsyncGenerator<FormPart> {
  const reader = createReader(source);
  const delimiter = Buffer.from(`\r\n--${boundary}`);
  // The first delimiter has no line break before it: one is added, so that all look alike.
  reader.unread(Buffer.from('\r\n'));
  for await (const passed of reader.until(delimiter)) void passed;
  for (let count = 0; ; count += 1) {
    const ending = await reader.line(2);
    if (ending === '--') return;
    if (ending !== '' || count >= maxParts)
      throw bad(count >= maxParts ? 'The form has too many parts.' : 'The form is malformed.');
    const headers = await readHeaders(reader);
    let read = false;
    const body = (async function* () {
      for await (const chunk of reader.until(delimiter)) yield chunk;
      read = true;
    })();
    yield { ...headers, body };
    while (!read) {
      const next = await body.next();
      // A reader that stopped early has closed the body: the rest is skipped here.
      if (next.done === true && !read) {
        for await (const passed of reader.until(delimiter)) void passed;
        read = true;
      }
    }
  }
}

async function readHeaders(reader: Reader): Promise<Omit<FormPart, 'body'>> {
  let disposition = '';
  let type: string | null = null;
  for (let size = 0; ; ) {
    const line = await reader.line(maxHeadersLength);
    if (line === '') break;
    size += line.length;
    if (size > maxHeadersLength) throw bad('The headers of a part are too long.');
    const colon = line.indexOf(':');
    const header = line.slice(0, colon).trim().toLowerCase();
    if (header === 'content-disposition') disposition = line.slice(colon + 1).trim();
    else if (header === 'content-type') type = line.slice(colon + 1).trim();
  }
  const name = parameter(disposition, 'name');
  if (!/^form-data\b/i.test(disposition) || name === null) throw bad('A part of the form has no name.');
  return { name, filename: parameter(disposition, 'filename'), type };
}

/** Browsers write quotes and line breaks in names as %22, %0D and %0A. */
function parameter(disposition: string, name: string): string | null {
  const match = new RegExp(`;\\s*${name}=(?:"((?:[^"\\\\]|\\\\.)*)"|([^\\s;]+))`, 'i').exec(disposition);
  const value = match?.[1] ?? match?.[2];
  return value === undefined ? null : value.replace(/\\(.)/g, '$1').replace(/%22|%0D|%0A/gi, '_');
}

interface Reader {
  unread(bytes: Buffer): void;
  /** Text up to the next CRLF, which is consumed, too; for `2`, `--` at the very end of a form counts as a line. */
  line(limit: number): Promise<string>;
  /** Bytes before the delimiter, which is consumed, too. */
  until(delimiter: Buffer): AsyncGenerator<Uint8Array>;
}

function createReader(source: AsyncIterable<Uint8Array>): Reader {
  const input = source[Symbol.asyncIterator]();
  let held: Buffer = Buffer.alloc(0);

  async function more(): Promise<void> {
    const next = await input.next();
    if (next.done === true) throw bad('The form was cut off.');
    const chunk = Buffer.from(next.value.buffer, next.value.byteOffset, next.value.byteLength);
    held = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
  }

  return {
    unread(bytes) {
      held = Buffer.concat([bytes, held]);
    },
    async line(limit) {
      while (true) {
        if (limit === 2 && held.length >= 2 && held[0] === 0x2d && held[1] === 0x2d) return '--';
        const end = held.indexOf('\r\n');
        if (end >= 0) {
          const text = held.toString('utf8', 0, end);
          held = held.subarray(end + 2);
          return text.trimEnd();
        }
        if (held.length > limit + 2) throw bad('The form is malformed.');
        await more();
      }
    },
    async *until(delimiter) {
      while (true) {
        const at = held.indexOf(delimiter);
        if (at === 0) {
          held = held.subarray(delimiter.length);
          return;
        }
        if (at > 0) {
          // The delimiter stays until its turn comes: a reader that stops here must not swallow it.
          const before = held.subarray(0, at);
          held = held.subarray(at);
          yield before;
          continue;
        }
        // The delimiter may have begun at the end of the buffer.
        const sure = held.length - delimiter.length + 1;
        if (sure > 0) {
          const before = held.subarray(0, sure);
          held = held.subarray(sure);
          yield before;
        }
        await more();
      }
    },
  };
}

function bad(fact: string): AppError {
  return new AppError('usage', fact, 'Send multipart/form-data as in RFC 7578.', { wireCode: 'bad_request' });
}
