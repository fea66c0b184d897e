/**
 * Seals values that must be read again: device keys, secrets of bots. AES-256-GCM under a separate key for each purpose, derived from the master key;
 * the place of a value is part of the seal, so that a ciphertext moved to another row does not open. First user: device identities; second: the
 * vault. Must not know tables.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';
import { AppError } from '../../contracts/common/errors.ts';

export interface Sealer {
  /** `place` names table, column, row and owner: `device|token|computer_1|user_local`. */
  seal(place: string, text: string): string;
  /** Throws `refused` if it was sealed for another place or under another key, or was changed since. */
  open(place: string, sealed: string): string;
  /** 32 bytes that follow from the master key, the purpose and this text, and from nothing else. */
  derive(text: string): Buffer;
}

const version = 'v1';
/** The master key that sealed it; a second one comes with rotation. */
const keyId = 'm1';
/** Prefix of every sealed text. */
export const sealedPrefix = `${version}:${keyId}:`;
const cipherName = 'aes-256-gcm';
/** Always passed: without it Node accepts tags of four bytes, which can be forged. */
const tagBytes = 16;
const ivBytes = 12;

export function createSealer({
  masterKey,
  purpose,
  random = randomBytes,
}: {
  /** At least 32 random bytes, from a private file. */
  readonly masterKey: string;
  /** The purpose of these seals: `device`, `vault`. */
  readonly purpose: string;
  readonly random?: (bytes: number) => Buffer;
}): Sealer {
  const key = Buffer.from(hkdfSync('sha256', masterKey, keyId, `gantry ${purpose}`, 32));
  return {
    derive: (text) => Buffer.from(hkdfSync('sha256', key, keyId, `derived ${text}`, 32)),
    seal(place, text) {
      const iv = random(ivBytes);
      const cipher = createCipheriv(cipherName, key, iv, { authTagLength: tagBytes });
      cipher.setAAD(Buffer.from(`${place}|${version}`));
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      const parts = [iv, cipher.getAuthTag(), sealed].map((part) => part.toString('base64url'));
      return [version, keyId, ...parts].join(':');
    },
    open(place, sealed) {
      const [its, id, iv = '', tag = '', text = ''] = sealed.split(':');
      try {
        if (its !== version || id !== keyId) throw new Error(`sealed as ${its}:${id}`);
        const decipher = createDecipheriv(cipherName, key, Buffer.from(iv, 'base64url'), { authTagLength: tagBytes });
        decipher.setAAD(Buffer.from(`${place}|${version}`));
        decipher.setAuthTag(Buffer.from(tag, 'base64url'));
        const opened = Buffer.concat([decipher.update(Buffer.from(text, 'base64url')), decipher.final()]);
        return opened.toString('utf8');
      } catch (cause) {
        throw new AppError(
          'refused',
          `The secret at ${place.split('|')[0]} cannot be opened.`,
          'Put back the master key file that sealed it, or set the secret again.',
          { cause },
        );
      }
    },
  };
}
