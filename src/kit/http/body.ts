/**
 * Reads a JSON body within its limits: size, depth, no encodings, and `application/json` only, because a web page can post
 * plain text and forms to us without asking first. Must not know schemas.
 */
import type { IncomingMessage } from 'node:http';
import { AppError } from '../../contracts/common/errors.ts';

export const defaultBodyLimit = 1024 * 1024;
/** Deep nesting harms later code that recurses; no body of ours nests deeper than a tenth of this. */
export const maxDepth = 64;

const jsonType = /^application\/json\s*(?:;\s*charset="?utf-8"?\s*)?$/i;
const utf8 = new TextDecoder('utf-8', { fatal: true });

/** A body that an authenticator has read already, because the signature covers the raw bytes. */
const rawBody = Symbol('raw body');
interface ReadRequest extends IncomingMessage {
  [rawBody]?: Buffer;
}

/** `undefined` if there is no body at all. */
export async function readJson(request: ReadRequest, limit: number): Promise<unknown> {
  const { headers } = request;
  const announced = headers['content-length'];
  const chunked = headers['transfer-encoding'] !== undefined;
  const type = headers['content-type'];
  if (type !== undefined && !jsonType.test(type)) {
    throw new AppError(
      'usage',
      `Content-Type ${JSON.stringify(type)} is not accepted here.`,
      'Send application/json.',
      {
        wireCode: 'unsupported_media_type',
      },
    );
  }
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity') {
    throw new AppError('usage', 'A compressed body is not accepted here.', 'Send the body without Content-Encoding.', {
      wireCode: 'unsupported_media_type',
    });
  }
  if (!chunked && (announced === undefined || announced === '0')) return undefined;
  if (announced !== undefined && Number(announced) > limit) throw tooLarge(limit);
  const text = textOf(request[rawBody] ?? (await readBytes(request, limit)), limit);
  if (text === '') return undefined;
  if (type === undefined) {
    throw new AppError('usage', 'The body has no Content-Type.', 'Send application/json.', {
      wireCode: 'unsupported_media_type',
    });
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new AppError('usage', `The body is not JSON: ${(cause as Error).message}.`, 'Send one JSON document.', {
      wireCode: 'bad_request',
    });
  }
  // Fewer characters cannot hold a body that is too deep, and only a text with the word can hold the key.
  if (text.length > maxDepth * 2 || text.includes('__proto__')) inspect(value, 1);
  return value;
}

/** The raw bytes of the body; read once, and kept with the request for later parsers. */
export async function readRaw(request: ReadRequest, limit: number): Promise<Buffer> {
  const kept = request[rawBody];
  if (kept !== undefined) return kept;
  const announced = request.headers['content-length'];
  if (announced !== undefined && Number(announced) > limit) throw tooLarge(limit);
  const body = await readBytes(request, limit);
  request[rawBody] = body;
  return body;
}

function textOf(bytes: Buffer, limit: number): string {
  if (bytes.length > limit) throw tooLarge(limit);
  try {
    return utf8.decode(bytes);
  } catch {
    throw new AppError('usage', 'The body is not UTF-8.', 'Send JSON in UTF-8.', { wireCode: 'bad_request' });
  }
}

/** Parses signed bytes; undefined: not JSON in UTF-8. */
export function jsonIn(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return undefined;
  }
}

function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  let whole = false;
  return new Promise((resolve, reject) => {
    const onData = (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        // The rest is read and dropped, so that the client gets to read the answer; the server's request timeout ends it.
        request.off('data', onData);
        request.resume();
        reject(tooLarge(limit));
      } else chunks.push(chunk);
    };
    request.on('data', onData);
    request.on('end', () => {
      whole = true;
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks));
    });
    request.on('error', () => reject(cutOff()));
    // This event follows each completely read request, too.
    request.on('close', () => {
      if (!whole) reject(cutOff());
    });
  });
}

function inspect(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth > maxDepth) {
    throw new AppError('usage', `The body nests deeper than ${maxDepth} levels.`, 'Send a flatter document.', {
      wireCode: 'bad_request',
    });
  }
  if (Array.isArray(value)) {
    for (const item of value) inspect(item, depth + 1);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    if (key === '__proto__') {
      throw new AppError('usage', 'unknown field "__proto__".', 'Leave it out.', { wireCode: 'bad_request' });
    }
    inspect(item, depth + 1);
  }
}

/** The error for a body over `limit` bytes. */
export function tooLarge(limit: number): AppError {
  return new AppError('usage', `The body is larger than ${limit} bytes.`, 'Send a smaller one.', {
    wireCode: 'too_large',
  });
}

function cutOff(): AppError {
  return new AppError('usage', 'The request was cut off.', 'Send it again.', { wireCode: 'bad_request' });
}
