/** What a program speaks, and to whom, by the first bytes that it sends. Pure. */

export type Speech =
  /** `name`: of its server name indication; null: it has none. */
  | { readonly is: 'tls'; readonly name: string | null }
  | { readonly is: 'http' }
  | { readonly is: 'other' }
  | { readonly is: 'broken'; readonly why: string };

/** Bytes in which a ClientHello has to end; those of browsers have about two thousand. */
export const maxOpening = 16 * 1024;
const maxRequestLine = 8 * 1024;
const handshakeRecord = 0x16;
const clientHello = 1;
const serverNameExtension = 0;

/** Null: more bytes are needed. `ended`: there will be none. */
export function speechOf(bytes: Buffer, ended = false): Speech | null {
  if (bytes.length === 0) return ended ? { is: 'other' } : null;
  const found = bytes[0] === handshakeRecord ? tlsIn(bytes) : textIn(bytes);
  if (found !== null) return found;
  if (ended) return bytes[0] === handshakeRecord ? broken('its TLS handshake ended too early') : { is: 'other' };
  return bytes.length >= maxOpening ? broken('its TLS handshake is too long') : null;
}

const broken = (why: string): Speech => ({ is: 'broken', why });

/**
 * Text is HTTP if its first line says so, whatever its method is called; servers skip empty lines before it. A line that is too long for most servers
 * counts as HTTP, whose parser then refuses it.
 */
function textIn(bytes: Buffer): Speech | null {
  let start = 0;
  while (bytes[start] === 0x0d || bytes[start] === 0x0a) start += 1;
  const first = bytes[start];
  if (first === undefined) return start > 64 ? { is: 'other' } : null;
  if (first < 0x21 || first > 0x7e) return { is: 'other' };
  const end = bytes.findIndex((byte, at) => at > start && isControl(byte));
  if (end >= 0 && bytes[end] !== 0x0a && bytes[end] !== 0x0d) return { is: 'other' };
  if (end < 0 && bytes.length - start < maxRequestLine) return null;
  const line = bytes.toString('latin1', start, end < 0 ? bytes.length : end);
  const isHttp = end < 0 ? /^[!-~]+ /.test(line) : /^[!-~]+[ \t].*HTTP\/\d/i.test(line);
  return { is: isHttp ? 'http' : 'other' };
}

const isControl = (byte: number): boolean => (byte < 0x20 && byte !== 0x09) || byte === 0x7f;

/** RFC 8446, 4.1.2 and 5.1: a ClientHello may lie in several records. */
function tlsIn(bytes: Buffer): Speech | null {
  if (bytes.length < 2) return null;
  if (bytes[1] !== 3) return { is: 'other' };
  const parts: Buffer[] = [];
  let length = 0;
  /** Of the message; null: its length is still to come. */
  let end: number | null = null;
  for (let at = 0; ; ) {
    if (bytes.length < at + 5) return null;
    if (bytes[at] !== handshakeRecord) return broken('its TLS handshake is interrupted');
    const size = bytes.readUInt16BE(at + 3);
    if (size === 0 || size > maxOpening) return broken('its TLS record has no valid length');
    const part = bytes.subarray(at + 5, at + 5 + size);
    parts.push(part);
    length += part.length;
    if (end === null && length >= 4) {
      const head = Buffer.concat(parts);
      if (head[0] !== clientHello) return broken('its TLS handshake begins with something else than a ClientHello');
      end = 4 + head.readUIntBE(1, 3);
      if (end > maxOpening) return broken('its TLS handshake is too long');
    }
    if (end !== null && length >= end) return helloIn(Buffer.concat(parts).subarray(4, end));
    if (part.length < size) return null;
    at += 5 + size;
  }
}

function helloIn(hello: Buffer): Speech {
  try {
    return { is: 'tls', name: nameIn(hello) };
  } catch {
    return broken('its ClientHello is malformed');
  }
}

/** Throws `RangeError` where a length leads out of the message, and for a name that is not said exactly once. */
function nameIn(hello: Buffer): string | null {
  const read = reader(hello);
  read.skip(2 + 32);
  read.skip(read.number(1));
  read.skip(read.number(2));
  read.skip(read.number(1));
  if (read.atEnd()) return null;
  const extensions = reader(read.bytes(read.number(2)));
  let found: string | null = null;
  while (!extensions.atEnd()) {
    const kind = extensions.number(2);
    const body = extensions.bytes(extensions.number(2));
    if (kind !== serverNameExtension) continue;
    const names = reader(reader(body).bytes(body.readUInt16BE(0), 2));
    const type = names.number(1);
    const name = names.bytes(names.number(2));
    if (found !== null || type !== 0 || !names.atEnd() || name.length === 0) throw new RangeError('one name');
    found = name.toString('latin1');
  }
  return found;
}

function reader(from: Buffer) {
  let at = 0;
  function bytes(length: number, skipped = 0): Buffer {
    at += skipped;
    if (at + length > from.length) throw new RangeError('too short');
    at += length;
    return from.subarray(at - length, at);
  }
  return {
    bytes,
    skip: (length: number): void => void bytes(length),
    number: (size: number): number => bytes(size).readUIntBE(0, size),
    atEnd: (): boolean => at === from.length,
  };
}
