/**
 * Secrets that a sandbox holds only as placeholders: where a request's header gets the value, what is refused because a placeholder is where none may be,
 * and how the value is taken out of an answer. Must not know connections.
 */
import { Transform } from 'node:stream';
import { type HostAndPort, showHostAndPort } from '../../kit/egress/host-name.ts';
import type { KeyUse } from './protocol.ts';

type Put =
  | { readonly ok: true; readonly headers: string[]; readonly used: readonly KeyUse[] }
  /** Ends a sentence. */
  | { readonly ok: false; readonly why: string };

interface Request {
  readonly to: HostAndPort;
  /** Its TLS was opened here, so that nobody else on the way reads it. */
  readonly isOpened: boolean;
  readonly method: string;
  readonly path: string;
  /** Name, value, name, value. */
  readonly headers: readonly string[];
}

/** The headers with values, each only where its secret is for this host, header and method. */
export function putKeys(keys: readonly KeyUse[], request: Request): Put {
  const { path, headers } = request;
  const shown = [path, decoded(path)];
  const inPath = keys.find(({ placeholder }) => shown.some((text) => text.includes(placeholder)));
  if (inPath !== undefined) return { ok: false, why: `the placeholder of ${inPath.name} is in its address` };
  const used: KeyUse[] = [];
  const after = [...headers];
  for (let at = 0; at < headers.length; at += 2) {
    const [name = '', value = ''] = headers.slice(at, at + 2);
    const inside = [name, value, basicOf(value) ?? ''];
    const found = keys.filter(({ placeholder }) => inside.some((text) => text.includes(placeholder)));
    const [key] = found;
    if (key === undefined) continue;
    const put = found.length === 1 && fits(key, name, request) ? withValue(key, value) : null;
    if (put === null) {
      const where = `${showHostAndPort(key)}, in ${key.header}${key.methods === null ? '' : `, with ${key.methods.join(', ')}`}`;
      return { ok: false, why: `the placeholder of ${key.name} is only for ${where}` };
    }
    after[at + 1] = put;
    used.push(key);
  }
  return { ok: true, headers: after, used };
}

function fits(key: KeyUse, header: string, { to, isOpened, method }: Request): boolean {
  const isThere = key.host === to.host && key.port === to.port && key.header === header.toLowerCase();
  return isThere && isOpened && (key.methods === null || key.methods.includes(method));
}

/** Null: it is more or less than the placeholder in that form. */
function withValue({ form, placeholder, value }: KeyUse, header: string): string | null {
  if (form === 'raw') return header === placeholder ? value : null;
  if (form === 'bearer') {
    const scheme = header.slice(0, -placeholder.length);
    return header.endsWith(placeholder) && /^(?:Bearer|token) $/i.test(scheme) ? `${scheme}${value}` : null;
  }
  const [user = '', password, ...more] = basicOf(header)?.split(':') ?? [];
  if (password === undefined || more.length > 0 || (user !== placeholder && password !== placeholder)) return null;
  const put = (text: string) => (text === placeholder ? value : text);
  return `Basic ${Buffer.from(`${put(user)}:${put(password)}`).toString('base64')}`;
}

function basicOf(header: string): string | null {
  const [, encoded] = /^Basic +([\w+/=-]+)$/i.exec(header) ?? [];
  return encoded === undefined ? null : Buffer.from(encoded, 'base64').toString();
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** Bytes with these texts in place of those, wherever a chunk ends. */
export function replacing(pairs: readonly { readonly from: string; readonly to: string }[]): Transform {
  const all = pairs.map(({ from, to }) => ({ from: Buffer.from(from), to: Buffer.from(to) }));
  const kept = Math.max(0, ...all.map(({ from }) => from.length - 1));
  let rest = Buffer.alloc(0);

  /** Up to where no text can begin that ends later. */
  function replaced(bytes: Buffer, isLast: boolean): Buffer[] {
    const out: Buffer[] = [];
    let at = 0;
    for (;;) {
      const next = all
        .map((pair) => ({ ...pair, index: bytes.indexOf(pair.from, at) }))
        .filter(({ index }) => index >= 0)
        .sort((one, other) => one.index - other.index)[0];
      if (next === undefined) break;
      out.push(bytes.subarray(at, next.index), next.to);
      at = next.index + next.from.length;
    }
    const end = isLast ? bytes.length : Math.max(at, bytes.length - kept);
    out.push(bytes.subarray(at, end));
    rest = Buffer.from(bytes.subarray(end));
    return out;
  }

  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(null, Buffer.concat(replaced(Buffer.concat([rest, chunk]), false)));
    },
    flush(done) {
      done(null, Buffer.concat(replaced(rest, true)));
    },
  });
}

export class PlaceholderFound extends Error {
  override readonly name = 'PlaceholderFound';
}

/** Passes bytes until one of these texts is among them; then it fails. */
export function refusing(texts: readonly string[]): Transform {
  const all = texts.map((text) => Buffer.from(text));
  const kept = Math.max(0, ...all.map((text) => text.length - 1));
  let rest = Buffer.alloc(0);
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const bytes = Buffer.concat([rest, chunk]);
      if (all.some((text) => bytes.includes(text))) return done(new PlaceholderFound('a placeholder is in its body'));
      const end = Math.max(0, bytes.length - kept);
      rest = Buffer.from(bytes.subarray(end));
      done(null, bytes.subarray(0, end));
    },
    flush(done) {
      done(null, rest);
    },
  });
}
