/**
 * The text of an API key: `gantry_`, 24 random bytes, a checksum of 6 characters. Scanners for leaked secrets and our
 * own log filter recognise it, and a mistyped key is refused without a look into the store. Pure.
 */
import { hash } from 'node:crypto';

const prefix = 'gantry_';
const pattern = /^gantry_([A-Za-z0-9_-]{32})([A-Za-z0-9_-]{6})$/;
/** Characters that are stored and shown, to tell keys apart: 48 of 192 bits. */
const shown = prefix.length + 8;

function checksumOf(body: string): string {
  return hash('sha256', `key:${body}`, 'base64url').slice(0, 6);
}

export function newKeyText(random: (bytes: number) => Buffer): string {
  const body = random(24).toString('base64url');
  return `${prefix}${body}${checksumOf(body)}`;
}

/** Whether it looks like a key, whatever its checksum. */
export const isKeyText = (text: string): boolean => text.startsWith(prefix) && pattern.test(text);

/** `damaged`: it looks like a key, but its checksum is wrong. */
export function readKeyText(text: string): 'key' | 'damaged' | 'other' {
  const match = pattern.exec(text);
  if (match === null) return 'other';
  return checksumOf(match[1]!) === match[2] ? 'key' : 'damaged';
}

export function keyPrefix(text: string): string {
  return text.slice(0, shown);
}
