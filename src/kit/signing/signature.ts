/**
 * The device signature `x-platform-runtime-{id,ts,sig}`: the signed string and its key. First user: approvals in both directions; second: connector
 * events. Must not know HTTP servers.
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';

export const signatureHeaders = {
  id: 'x-platform-runtime-id',
  ts: 'x-platform-runtime-ts',
  sig: 'x-platform-runtime-sig',
} as const;

/** A signature is valid for this long before and after its time, by the verifier's wall clock. */
export const signatureWindowS = 300;

interface SignedRequest {
  /** Seconds since the epoch. */
  readonly ts: string;
  /** Upper case. */
  readonly method: string;
  /** The request target as sent over the wire, without a query. */
  readonly path: string;
  readonly body: Uint8Array | string;
}

/** The key is the 64 hex characters themselves, not the bytes they stand for. As secret as the token: it signs. */
export function signingKey(deviceToken: string): string {
  return hash('sha256', deviceToken, 'hex');
}

export function signature(key: string, { ts, method, path, body }: SignedRequest): string {
  const text = `${ts}.${method}.${path}.${hash('sha256', body, 'hex')}`;
  return `v1=${createHmac('sha256', key).update(text).digest('hex')}`;
}

const shape = /^v1=[0-9a-f]{64}$/;

/** In constant time. */
export function signatureMatches(key: string, request: SignedRequest, given: string): boolean {
  const expected = Buffer.from(signature(key, request));
  // The comparison throws on another length, so the shape is checked before.
  return timingSafeEqual(expected, shape.test(given) ? Buffer.from(given) : Buffer.alloc(expected.length));
}

/**
 * Refuses paths that two programs could read differently: no query, no encoded or doubled separators, ASCII only. No signed route needs any of it.
 */
export function checkSignedPath(path: string): void {
  const plain = /^\/[\x21-\x7e]*$/.test(path);
  if (plain && !/[?#]|\/\/|\/\.{1,2}(?:\/|$)|%2e|%2f|%5c/i.test(path)) return;
  throw new AppError(
    'usage',
    `The signed path ${JSON.stringify(path.slice(0, 200))} has parts that are not plain segments.`,
    'Sign and send only the path: no query, no dots, nothing encoded.',
    { wireCode: 'bad_request' },
  );
}

interface Signer {
  readonly runtimeId: string;
  readonly key: string;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** The three headers of one request. Sign again for each attempt: a signature is accepted once. */
export function signedHeaders(
  { runtimeId, key, now }: Signer,
  request: Omit<SignedRequest, 'ts'>,
): Record<string, string> {
  checkSignedPath(request.path);
  const ts = String(Math.floor(now() / 1000));
  return {
    [signatureHeaders.id]: runtimeId,
    [signatureHeaders.ts]: ts,
    [signatureHeaders.sig]: signature(key, { ts, ...request }),
  };
}
