import { expect, test } from 'vitest';
import { readPhoneSettings } from '../../src/host/phone-settings.ts';

const publicKey = Buffer.alloc(32, 7).toString('base64');
const env = (more: Record<string, string> = {}) => ({
  GANTRY_TELNYX_API_KEY: 'KEY-not-to-be-shown',
  GANTRY_TELNYX_PUBLIC_KEY: publicKey,
  GANTRY_TELNYX_CONNECTION_ID: '1494404757140276705',
  ...more,
});

test('without any variable there is no carrier', () => {
  expect(readPhoneSettings({})).toBeNull();
  expect(readPhoneSettings({ GANTRY_TELNYX_API_KEY: ' ', GANTRY_TELNYX_URL: 'https://carrier.example' })).toBeNull();
});

test('a limit that is no number stops the start by its name, also without a carrier', () => {
  for (const name of ['GANTRY_TEXTS_PER_DAY', 'GANTRY_CALLS_AT_ONCE']) {
    expect(() => readPhoneSettings({ [name]: 'x' }), name).toThrow(`${name} cannot be "x".`);
  }
});

test('a carrier is its key, what it signs with, and its application', () => {
  expect(readPhoneSettings(env())).toEqual({
    carrier: 'telnyx',
    apiKey: 'KEY-not-to-be-shown',
    publicKey,
    connectionId: '1494404757140276705',
    url: 'https://api.telnyx.com/v2',
    webhookUrl: null,
    textLimits: { standard: { perDay: 1000, perMinute: null }, soleProprietor: { perDay: 200, perMinute: 15 } },
    callLimits: { maxConcurrent: 5, perDay: 100, maxCallMs: 4 * 60 * 60_000 },
  });
  const elsewhere = {
    GANTRY_TELNYX_URL: 'http://127.0.0.1:4010/v2/',
    GANTRY_TELNYX_WEBHOOK_URL: 'https://hooks.example/',
  };
  expect(readPhoneSettings(env(elsewhere))).toMatchObject({
    url: 'http://127.0.0.1:4010/v2',
    webhookUrl: 'https://hooks.example',
  });
});

test.each([
  ['a key alone', { GANTRY_TELNYX_PUBLIC_KEY: '', GANTRY_TELNYX_CONNECTION_ID: '' }, 'GANTRY_TELNYX_PUBLIC_KEY'],
  ['no application', { GANTRY_TELNYX_CONNECTION_ID: '' }, 'GANTRY_TELNYX_CONNECTION_ID'],
  ['no key', { GANTRY_TELNYX_API_KEY: '' }, 'GANTRY_TELNYX_API_KEY'],
  ['a public key of another length', { GANTRY_TELNYX_PUBLIC_KEY: 'AAAA' }, 'GANTRY_TELNYX_PUBLIC_KEY'],
  ['an address over http', { GANTRY_TELNYX_URL: 'http://carrier.example' }, 'GANTRY_TELNYX_URL'],
  ['an address that is none', { GANTRY_TELNYX_WEBHOOK_URL: 'hooks' }, 'GANTRY_TELNYX_WEBHOOK_URL'],
])('%s is refused, naming the variable and never the key', (_what, more, variable) => {
  const read = () => readPhoneSettings(env(more));
  expect(read).toThrow(variable);
  expect(read).not.toThrow('not-to-be-shown');
});
