import { expect, test } from 'vitest';
import webpush from 'web-push';
import { defaultPushSettings, readPushSettings } from '../../src/host/push-settings.ts';

const pair = webpush.generateVAPIDKeys();
const env = (more: Record<string, string>) => ({
  GANTRY_VAPID_PUBLIC_KEY: pair.publicKey,
  GANTRY_VAPID_PRIVATE_KEY: pair.privateKey,
  ...more,
});

test('without any setting keys are made and public addresses alone are asked', () => {
  expect(readPushSettings({})).toEqual(defaultPushSettings);
  expect(readPushSettings({ GANTRY_VAPID_PUBLIC_KEY: ' ', GANTRY_EGRESS_ALLOW: ' , ' })).toEqual(defaultPushSettings);
});

test('an operator gives a pair, whom to write to, and what else may be reached', () => {
  const more = { GANTRY_VAPID_SUBJECT: 'mailto:me@example.com', GANTRY_EGRESS_ALLOW: 'push.internal:80, 10.0.0.0/8' };
  expect(readPushSettings(env(more))).toEqual({
    vapid: pair,
    subject: 'mailto:me@example.com',
    allow: ['push.internal:80', '10.0.0.0/8'],
  });
});

test.each([
  ['half a pair', { GANTRY_VAPID_PRIVATE_KEY: '' }, 'GANTRY_VAPID_PRIVATE_KEY'],
  ['a key that is none', { GANTRY_VAPID_PUBLIC_KEY: 'secret!' }, 'GANTRY_VAPID_PUBLIC_KEY'],
  ['a key of another length', { GANTRY_VAPID_PRIVATE_KEY: 'AAAA' }, 'GANTRY_VAPID_PRIVATE_KEY'],
  ['a subject that nobody can write to', { GANTRY_VAPID_SUBJECT: 'me' }, 'GANTRY_VAPID_SUBJECT'],
])('%s is refused, with the name of the variable and never a private key', (_name, more, variable) => {
  const read = () => readPushSettings(env(more));
  expect(read).toThrow(variable);
  expect(read).not.toThrow(pair.privateKey);
});
