/**
 * Settings of pushes: the operator's own key pair, the contact for push services, and the private addresses that may be reached. Read only from the
 * environment; without them, keys are generated and only public addresses are used. Must not start anything.
 */
import type { VapidPair } from '../cloud-api/notifications/index.ts';
import { AppError } from '../contracts/common/errors.ts';

export interface PushSettings {
  readonly vapid: VapidPair | null;
  /** `mailto:…` or `https://…`; null: the public address, where there is one. */
  readonly subject: string | null;
  /** `host`, `host:port` or `10.0.0.0/8`. */
  readonly allow: readonly string[];
}

const names = {
  publicKey: 'GANTRY_VAPID_PUBLIC_KEY',
  privateKey: 'GANTRY_VAPID_PRIVATE_KEY',
  subject: 'GANTRY_VAPID_SUBJECT',
  allow: 'GANTRY_EGRESS_ALLOW',
} as const;

/** Bytes of the two keys of P-256. */
const keyBytes = { publicKey: 65, privateKey: 32 } as const;

export const defaultPushSettings: PushSettings = { vapid: null, subject: null, allow: [] };

/** Throws `usage`, naming the variable. A private key is never shown. */
export function readPushSettings(env: Readonly<Record<string, string | undefined>>): PushSettings {
  const given = (name: keyof typeof names) => env[names[name]]?.trim() || null;
  const key = (name: 'publicKey' | 'privateKey') => {
    const value = given(name);
    if (value === null || /^[A-Za-z0-9_-]+$/.test(value)) {
      if (value === null || Buffer.from(value, 'base64url').length === keyBytes[name]) return value;
    }
    const fact = `${names[name]} is not ${keyBytes[name]} bytes in base64url.`;
    throw new AppError('usage', fact, 'Use a pair that `npx web-push generate-vapid-keys` printed.');
  };
  const publicKey = key('publicKey');
  const privateKey = key('privateKey');
  if ((publicKey === null) !== (privateKey === null)) {
    const missing = publicKey === null ? names.publicKey : names.privateKey;
    throw new AppError('usage', `${missing} is not set, but the other key is.`, 'Set both, or neither.');
  }
  const subject = given('subject');
  if (subject !== null && !/^(mailto:.+@|https:\/\/)./.test(subject)) {
    const fact = `${names.subject} cannot be ${JSON.stringify(subject)}.`;
    throw new AppError('usage', fact, 'Give mailto:<address> or https://<page>.');
  }
  return {
    vapid: publicKey === null || privateKey === null ? null : { publicKey, privateKey },
    subject,
    allow: readEgressAllow(env),
  };
}

/** Private addresses that may be reached: `host`, `host:port` or `10.0.0.0/8`, with commas between. */
export function readEgressAllow(env: Readonly<Record<string, string | undefined>>): string[] {
  return (env[names.allow] ?? '')
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
}
