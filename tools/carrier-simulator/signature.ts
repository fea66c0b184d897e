/**
 * The carrier's signature: Ed25519 over `timestamp|body`. The public key is given out as the base64 of its 32 bytes.
 */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

/** Bytes of an Ed25519 key in its DER wrapping. */
const keyBytes = 32;

export interface Signer {
  /** Base64 of 32 bytes. */
  readonly publicKey: string;
  /** `seconds` since the epoch, as in the header. */
  sign(seconds: number, body: string): string;
}

export function newPrivateKey(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
}

export function createSigner(pem: string): Signer {
  const key: KeyObject = createPrivateKey(pem);
  const spki = createPublicKey(key).export({ type: 'spki', format: 'der' });
  return {
    publicKey: spki.subarray(spki.length - keyBytes).toString('base64'),
    sign: (seconds, body) => sign(null, Buffer.from(`${seconds}|${body}`), key).toString('base64'),
  };
}
