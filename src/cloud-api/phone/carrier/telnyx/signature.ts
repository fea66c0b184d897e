/**
 * Verifies the sender of a post: Ed25519 over `<telnyx-timestamp>|<raw body>`, at most five minutes off either way. Our own check, because some
 * builds of the carrier's client verify another scheme and refuse real events. Fails closed.
 */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

/** Either way, seconds. */
const signatureTolerance = 300;
/** Prefix of the 32 bytes of such a key in DER (RFC 8410). */
const derOfEd25519 = Buffer.from('302a300506032b6570032100', 'hex');

/** `key`: base64 of 32 bytes; null: an invalid one. */
export function readPublicKey(key: string): KeyObject | null {
  const bytes = Buffer.from(key, 'base64');
  if (bytes.length !== 32 || bytes.toString('base64') !== key.trim()) return null;
  return createPublicKey({ key: Buffer.concat([derOfEd25519, bytes]), format: 'der', type: 'spki' });
}

/** `body`: the raw bytes. `now`: milliseconds since the epoch. */
export function isSigned(key: KeyObject, headers: IncomingHttpHeaders, body: Buffer, now: number): boolean {
  const { 'telnyx-timestamp': timestamp, 'telnyx-signature-ed25519': signature } = headers;
  if (typeof timestamp !== 'string' || typeof signature !== 'string' || !/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(now / 1000 - Number(timestamp)) > signatureTolerance) return false;
  const bytes = Buffer.from(signature, 'base64');
  if (bytes.length !== 64) return false;
  return verify(null, Buffer.concat([Buffer.from(`${timestamp}|`), body]), key, bytes);
}
