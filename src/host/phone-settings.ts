/**
 * Settings of the phone: the account at the carrier, read only from the environment, because they include a key. Without them the phone is off. Must
 * not start anything.
 */
import type { CallLimits, NumberLimits } from '../cloud-api/phone/part.ts';
import { AppError } from '../contracts/common/errors.ts';
import { readCallLimits, readTextLimits } from './phone-limits.ts';

export interface PhoneSettings {
  /** `simulator`: the demo phone, which speaks the same wire. */
  readonly carrier: 'telnyx' | 'simulator';
  readonly apiKey: string;
  /** What its events are signed by: base64 of 32 bytes. */
  readonly publicKey: string;
  /** The call-control application that answers calls. */
  readonly connectionId: string;
  /** Of its API, without a slash at the end. */
  readonly url: string;
  /** At which it reaches this Gantry; null: the address that people use. */
  readonly webhookUrl: string | null;
  /** Absent: `numberLimits`. */
  readonly textLimits?: NumberLimits;
  /** Absent: the usual ones. */
  readonly callLimits?: CallLimits;
}

const names = {
  apiKey: 'GANTRY_TELNYX_API_KEY',
  publicKey: 'GANTRY_TELNYX_PUBLIC_KEY',
  connectionId: 'GANTRY_TELNYX_CONNECTION_ID',
  url: 'GANTRY_TELNYX_URL',
  webhookUrl: 'GANTRY_TELNYX_WEBHOOK_URL',
} as const;

const defaultUrl = 'https://api.telnyx.com/v2';
const keyBytes = 32;
const loopback = /^(localhost|127(?:\.\d+){3}|\[::1\])$/;

/** What may be sent and called, whichever carrier does it, the demo's too. Throws `usage`, naming the variable. */
export function readPhoneLimits(env: Readonly<Record<string, string | undefined>>) {
  return { textLimits: readTextLimits(env), callLimits: readCallLimits(env) };
}

/** Null: no carrier is configured. Throws `usage`, naming the variable; a key is never shown. */
export function readPhoneSettings(env: Readonly<Record<string, string | undefined>>): PhoneSettings | null {
  const given = (name: keyof typeof names) => env[names[name]]?.trim() || null;
  const limits = readPhoneLimits(env);
  const needed = ['apiKey', 'publicKey', 'connectionId'] as const;
  if (needed.every((name) => given(name) === null)) return null;
  const need = (name: (typeof needed)[number]): string => {
    const value = given(name);
    if (value !== null) return value;
    const fact = `${names[name]} is not set, but other carrier settings are.`;
    throw new AppError('usage', fact, 'Set all of them or none; docs/phone.md says where to find them.');
  };
  const publicKey = need('publicKey');
  if (Buffer.from(publicKey, 'base64').length !== keyBytes) {
    const fact = `${names.publicKey} is not ${keyBytes} bytes in base64.`;
    throw new AppError('usage', fact, 'Copy the public key from the carrier’s portal.');
  }
  return {
    carrier: 'telnyx',
    apiKey: need('apiKey'),
    publicKey,
    connectionId: need('connectionId'),
    url: addressIn('url', given('url') ?? defaultUrl),
    webhookUrl: given('webhookUrl') === null ? null : addressIn('webhookUrl', given('webhookUrl') ?? ''),
    ...limits,
  };
}

/** https, or http on this machine: the key goes there. Without a slash at the end. */
function addressIn(name: 'url' | 'webhookUrl', value: string): string {
  const url = URL.canParse(value) ? new URL(value) : null;
  const plain = url !== null && url.search === '' && url.hash === '' && url.username === '';
  if (plain && (url.protocol === 'https:' || (url.protocol === 'http:' && loopback.test(url.hostname)))) {
    return url.href.replace(/\/$/, '');
  }
  const fact = `${names[name]} cannot be ${JSON.stringify(value)}.`;
  throw new AppError('usage', fact, 'Give an https address; http is enough only for 127.0.0.1 and localhost.');
}
