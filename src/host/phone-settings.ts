/**
 * Settings of the phone: the account at the carrier, read only from the environment, because they include a key. Without them the phone is off. Must
 * not start anything.
 */
import { type CallLimits, defaultCallLimits, type NumberLimits, numberLimits } from '../cloud-api/phone/part.ts';
import { AppError } from '../contracts/common/errors.ts';

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

/** Limits of texts and calls from the environment, whichever carrier does them, the demo's too. Pure. */
type Env = Readonly<Record<string, string | undefined>>;

const minuteMs = 60_000;
const maxTexts = 1_000_000;

/** A variable that is not set keeps its default. Throws `usage`, naming the variable, on a bad value. */
function given(env: Env, name: string, max: number, standard: number): number {
  const value = env[name]?.trim() ?? '';
  if (value === '') return standard;
  if (/^[1-9]\d{0,9}$/.test(value) && Number(value) <= max) return Number(value);
  throw new AppError('usage', `${name} cannot be ${JSON.stringify(value)}.`, `Give a whole number from 1 to ${max}.`);
}

/** A number's day, and a sole proprietor's day and minute. */
export function readTextLimits(env: Env): NumberLimits {
  const { standard, soleProprietor } = numberLimits;
  const perMinute = soleProprietor.perMinute ?? maxTexts;
  return {
    standard: {
      perDay: given(env, 'GANTRY_TEXTS_PER_DAY', maxTexts, standard.perDay),
      perMinute: standard.perMinute,
    },
    soleProprietor: {
      perDay: given(env, 'GANTRY_SOLE_PROPRIETOR_TEXTS_PER_DAY', maxTexts, soleProprietor.perDay),
      perMinute: given(env, 'GANTRY_SOLE_PROPRIETOR_TEXTS_PER_MINUTE', maxTexts, perMinute),
    },
  };
}

/** A person's concurrent calls, a number's outbound calls a day, and a call's duration: at most four hours. */
export function readCallLimits(env: Env): CallLimits {
  const { maxConcurrent, perDay, maxCallMs } = defaultCallLimits;
  return {
    maxConcurrent: given(env, 'GANTRY_CALLS_AT_ONCE', 1_000, maxConcurrent),
    perDay: given(env, 'GANTRY_CALLS_PER_DAY', 100_000, perDay),
    maxCallMs: given(env, 'GANTRY_CALL_MINUTES', 240, maxCallMs / minuteMs) * minuteMs,
  };
}
