import { Webhook } from 'standardwebhooks';
import { describe, expect, it } from 'vitest';
import { isSignedWebhook, newWebhookSecret, signWebhook, webhookKey } from '../../../src/kit/signing/webhook.ts';

const now = 1_795_168_800_000;
const timestamp = now / 1000;
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const keyOf = (text: string) => webhookKey(text) ?? Buffer.alloc(0);
const body = Buffer.from('{"a":1}');
const signed = {
  id: 'msg_1',
  timestamp: String(timestamp),
  body,
  signature: signWebhook(keyOf(secret), 'msg_1', timestamp, body),
};

describe('Standard Webhooks', () => {
  it('signs as the published vector says', () => {
    expect(signed.signature).toBe('v1,6KnMLd7gatDfV5dvyjs+J+V1TGXEFgeqINQQrmO/ZII=');
  });

  it('is verified by the public library, and verifies what that signs', () => {
    const made = newWebhookSecret();
    const at = Math.floor(Date.now() / 1000);
    const library = new Webhook(made);
    const headers = {
      'webhook-id': 'evt_ü',
      'webhook-timestamp': String(at),
      'webhook-signature': signWebhook(keyOf(made), 'evt_ü', at, body),
    };
    expect(library.verify(body, headers)).toEqual({ a: 1 });
    const signature = library.sign('evt_2', new Date(at * 1000), body.toString());
    expect(isSignedWebhook([keyOf(made)], { id: 'evt_2', timestamp: String(at), signature, body }, at * 1000)).toBe(
      true,
    );
  });

  it('takes any of several signatures, by any of the keys', () => {
    const other = keyOf(newWebhookSecret());
    const both = { ...signed, signature: `v1a,xyz v1,short ${signed.signature}` };
    expect(isSignedWebhook([other, keyOf(secret)], both, now)).toBe(true);
    expect(isSignedWebhook([other], both, now)).toBe(false);
  });

  it.each([
    ['another body', { body: Buffer.from('{"a": 1}') }],
    ['another id', { id: 'msg_2' }],
    ['a time that is no number', { timestamp: '1e9' }],
    ['no signature', { signature: '' }],
    ['another kind of signature alone', { signature: signed.signature.replace('v1,', 'v1a,') }],
  ])('refuses %s', (_, change) => {
    expect(isSignedWebhook([keyOf(secret)], { ...signed, ...change }, now)).toBe(false);
  });

  it('takes a time of five minutes either way, and refuses one second more', () => {
    for (const [off, good] of [
      [300, true],
      [-300, true],
      [301, false],
      [-301, false],
    ] as const) {
      expect(isSignedWebhook([keyOf(secret)], signed, now + off * 1000)).toBe(good);
    }
  });

  it.each([
    '',
    'whsec_',
    'whsec_AAAA',
    `whsec_${Buffer.alloc(23).toString('base64')}`,
    `whsec_${Buffer.alloc(65).toString('base64')}`,
    secret.slice(6),
    `${secret} `,
  ])('knows no key in %j', (text) => {
    expect(webhookKey(text)).toBeNull();
  });
});
